package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTablesAreTheModels compares the tables with the model: each structure has one,
// with its members and what is required, so that the tests of all shapes see all.
func TestTablesAreTheModels(t *testing.T) {
	text, err := os.ReadFile("model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	type shape struct {
		T   string
		M   map[string]string
		Req []string
		Exc bool
	}
	var model struct {
		Shapes map[string]shape
		Later  struct{ Shapes map[string]shape }
	}
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	maps.Copy(model.Shapes, model.Later.Shapes)
	maps.DeleteFunc(model.Shapes, func(_ string, s shape) bool { return s.T != "structure" || s.Exc })
	if len(structures) != len(model.Shapes) {
		t.Errorf("%d tables, %d structures in the model", len(structures), len(model.Shapes))
	}
	for typ, s := range structures {
		var members, required []string
		for _, f := range s.fields {
			members = append(members, f.name)
			if f.bit != 0 {
				required = append(required, f.name)
			}
		}
		want := model.Shapes[typ.Name()]
		slices.Sort(members)
		if !slices.Equal(members, slices.Sorted(maps.Keys(want.M))) || !slices.Equal(required, want.Req) {
			t.Errorf("%s: members %v, of them required %v; want %+v", typ.Name(), members, required, want)
		}
	}
}

// TestTableRefuses holds that a type which the tables cannot describe is told when
// the program starts.
func TestTableRefuses(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"A: no shape Nothing has constraints": reflect.TypeFor[struct {
			A string `wire:"Nothing"`
		}](),
		`A: no option "needed" for string`: reflect.TypeFor[struct {
			A string `wire:",needed"`
		}](),
		`A: no option "empty" for wire.Opt[string]`: reflect.TypeFor[struct {
			A Opt[string] `wire:",required,empty"`
		}](),
		"A: the constraints of shape PortNumber are not for string": reflect.TypeFor[struct {
			A string `wire:"PortNumber"`
		}](),
		"A: the constraints of shape FleetId are not for int32": reflect.TypeFor[struct {
			A Opt[int32] `wire:"FleetId"`
		}](),
		"A: the constraints of shape PortNumber are not for time.Time": reflect.TypeFor[struct {
			A time.Time `wire:"PortNumber"`
		}](),
		"A: no member is a uint8":               reflect.TypeFor[struct{ A uint8 }](),
		"A: no member is a []int32":             reflect.TypeFor[struct{ A []int32 }](),
		"A: no member is a map[string]bool":     reflect.TypeFor[struct{ A map[string]bool }](),
		"A: no shape Protocols has constraints": reflect.TypeFor[struct{ A *struct{ A []Protocols } }](),
	} {
		t.Run(want, func(t *testing.T) {
			defer maps.DeleteFunc(structures, func(t reflect.Type, _ *structure) bool { return t.Name() == "" })
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "wire: ") || !strings.HasSuffix(got, want) {
					t.Errorf("panic: %s", got)
				}
			}()
			structureOf(typ)
		})
	}
}

// Protocols looks like an enumeration, which the model does not have.
type Protocols string
