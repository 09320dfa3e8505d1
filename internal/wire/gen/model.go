package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// A model is the API model: its operations and shapes by name.
type model struct {
	operations map[string]*operation
	shapes     map[string]*shape
	inputs     map[string]bool // the shapes that a request can hold
}

// An operation of the API. A nil Out means that the answer's body is empty.
type operation struct {
	In     string
	Out    *string
	Errors []string
	Page   *struct{ Result any }

	recent []string // the errors that only the newer part of the model lists
}

// A shape is a named type of the model.
type shape struct {
	name string

	Type      string   `json:"t"`
	Members   members  `json:"m"` // structures
	Required  []string `json:"req"`
	Element   string   `json:"of"` // lists
	Key       string   `json:"key"`
	Value     string   `json:"val"` // maps
	Min, Max  *float64 // characters, elements, bytes or a number's range
	Pattern   string   // strings: matched in full
	Enum      []string // strings
	Sensitive bool     `json:"sens"`
	Exception bool     `json:"exc"`
}

type member struct {
	name, shape string
}

// members keeps the members of a structure in the model's order.
type members []member

// UnmarshalJSON reads an object without losing its order.
func (m *members) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var shape string
		if err := dec.Decode(&shape); err != nil {
			return err
		}
		*m = append(*m, member{name.(string), shape})
	}
	return nil
}

// loadModel reads the model, puts the entries of its newer part in place of those they replace, and checks what the
// generator relies on.
func loadModel(file string) (*model, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	type entries struct {
		Operations map[string]*operation
		Shapes     map[string]*shape
	}
	var whole struct {
		entries
		Later entries
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	m := &model{operations: whole.Operations, shapes: whole.Shapes, inputs: make(map[string]bool)}
	for name, op := range whole.Later.Operations {
		op.recent = slices.DeleteFunc(slices.Clone(op.Errors), func(e string) bool {
			return m.operations[name] == nil || slices.Contains(m.operations[name].Errors, e)
		})
		m.operations[name] = op
	}
	maps.Copy(m.shapes, whole.Later.Shapes)
	for name, s := range m.shapes {
		s.name = name
	}
	for _, op := range m.operations {
		m.reach(op.In)
	}
	return m, m.check()
}

// reach marks a shape, and all that it holds, as part of a request.
func (m *model) reach(name string) {
	s := m.shapes[name]
	if s == nil || m.inputs[name] {
		return
	}
	m.inputs[name] = true
	for _, inner := range s.inner() {
		m.reach(inner)
	}
}

// inner lists the shapes that a shape holds.
func (s *shape) inner() []string {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.shape)
	}
	for _, name := range []string{s.Element, s.Key, s.Value} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// check reports what the generator cannot handle, so that a newer model fails loudly instead of giving code that is
// subtly wrong.
func (m *model) check() error {
	for _, s := range m.sorted() {
		for _, inner := range s.inner() {
			if m.shapes[inner] == nil {
				return fmt.Errorf("shape %s names the unknown shape %s", s.name, inner)
			}
		}
		if s.Type == "structure" && s.Sensitive && m.inputs[s.name] {
			return fmt.Errorf("input shape %s is sensitive as a whole: its members would show", s.name)
		}
		if s.Type == "list" && !slices.Contains([]string{"structure", "string"}, m.shapes[s.Element].Type) {
			return fmt.Errorf("list %s has elements of type %s", s.name, m.shapes[s.Element].Type)
		}
		if len(s.Members) > 64 {
			return fmt.Errorf("structure %s has too many members", s.name)
		}
	}
	return nil
}

// sorted lists all shapes by name.
func (m *model) sorted() []*shape {
	return slices.SortedFunc(maps.Values(m.shapes),
		func(a, b *shape) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
}

// ofType lists the shapes of a type by name, without the exceptions: they are package fault's.
func (m *model) ofType(types ...string) []*shape {
	return slices.DeleteFunc(m.sorted(), func(s *shape) bool { return s.Exception || !slices.Contains(types, s.Type) })
}

// enums lists the enumerations by name.
func (m *model) enums() []*shape {
	return slices.DeleteFunc(m.ofType("string"), func(s *shape) bool { return len(s.Enum) == 0 })
}

func (s *shape) requires(name string) bool { return slices.Contains(s.Required, name) }
