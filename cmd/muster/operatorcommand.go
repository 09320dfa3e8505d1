package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// help is the texts of a command.
type help struct{ use, short, long, example string }

// operatorCommand returns a command that calls the operator's API.
func (a *app) operatorCommand(
	h help, args cobra.PositionalArgs, do func(context.Context, *operatorCall, []string) error,
) *cobra.Command {
	o := &operatorCall{app: a}
	command := &cobra.Command{Use: h.use, Short: h.short, Long: h.long, Example: h.example, Args: args,
		RunE: o.run(func(ctx context.Context, args []string) error { return do(ctx, o, args) })}
	o.addFlags(command)
	return command
}

// showCommand is operatorCommand with a flag for JSON.
func (a *app) showCommand(
	h help, args cobra.PositionalArgs, do func(context.Context, *operatorCall, []string) error,
) *cobra.Command {
	var asJSON bool
	command := a.operatorCommand(h, args, func(ctx context.Context, o *operatorCall, args []string) error {
		o.asJSON = asJSON
		return do(ctx, o, args)
	})
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// viewCommand is showCommand with a flag for the form of the output.
func (a *app) viewCommand(
	h help, args cobra.PositionalArgs, do func(context.Context, *operatorCall, []string) error,
) *cobra.Command {
	var output string
	command := a.showCommand(h, args, func(ctx context.Context, o *operatorCall, args []string) error {
		o.asJSON, o.wide = o.asJSON || output == "json", output == "wide"
		return do(ctx, o, args)
	})
	command.Flags().FuncP("output", "o", "table, wide (more columns) or json", func(value string) error {
		if output = value; !slices.Contains([]string{"table", "wide", "json"}, value) {
			return errors.New("must be table, wide or json")
		}
		return nil
	})
	return command
}

// parentCommand returns a command that only has subcommands.
func parentCommand(h help, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: h.use, Short: h.short, Long: h.long, Example: h.example}
	command.AddCommand(commands...)
	return command
}

// path returns a path of the API with escaped names.
func path(names ...string) string {
	var p strings.Builder
	p.WriteString("/v1")
	for _, name := range names {
		p.WriteString("/" + url.PathEscape(name))
	}
	return p.String()
}

// show prints an answer: as JSON, or what people writes.
func (o *operatorCall) show(answer any, people func(to io.Writer)) error {
	var out bytes.Buffer
	if o.asJSON {
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(answer); err != nil {
			return err
		}
	} else {
		t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		people(t)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := o.stdout.Write(out.Bytes())
	return err
}

// say prints a line about what was done.
func (o *operatorCall) say(format string, args ...any) error {
	_, err := fmt.Fprintf(o.stdout, format+"\n", args...)
	return err
}

// cells are those of a line of a table.
type cells []any

// line writes a line of a table, with more cells if the output is wide.
func (o *operatorCall) line(to io.Writer, all cells, wide ...any) {
	if o.wide {
		all = append(all, wide...)
	}
	row(to, all...)
}

// row writes a line of a table.
func row(to io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(to, "\t")
		}
		fmt.Fprint(to, cmp.Or(cellText(cell), "-"))
	}
	fmt.Fprintln(to)
}

func cellText(cell any) string {
	switch c := cell.(type) {
	case string:
		return oneLine(c)
	case []string:
		return strings.Join(c, ",")
	case bool:
		return yesNo(c)
	case time.Time:
		if c.IsZero() {
			return ""
		}
		return c.UTC().Format(time.RFC3339)
	case *time.Time:
		if c == nil {
			return ""
		}
		return cellText(*c)
	}
	return fmt.Sprint(cell)
}

// oneLine keeps a text of others within its cell: names of clients, for instance, are not checked by anybody.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// readFile reads a small file; "-" is standard input.
func (a *app) readFile(name string) ([]byte, error) {
	file, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxRefusal))
	if err == nil && len(text) == maxRefusal {
		err = fmt.Errorf("%s is too large", name)
	}
	return text, err
}

// readJSON reads a file with a JSON document.
func (a *app) readJSON(name string) (json.RawMessage, error) {
	text, err := a.readFile(name)
	if err != nil {
		return nil, err
	}
	var document json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return document, nil
}

// A days is a flag for a duration, which may be in days: 90d.
type days time.Duration

func (d *days) Set(text string) error {
	unit := time.Duration(1)
	parsed := text
	if n, ok := strings.CutSuffix(text, "d"); ok {
		unit, parsed = 24, n+"h"
	}
	value, err := time.ParseDuration(parsed)
	if err != nil || value <= 0 || value > 100*365*24*time.Hour/unit {
		return errors.New("must be a duration like 12h or 90d")
	}
	*d = days(value * unit)
	return nil
}

func (d *days) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type names the kind of value in the help.
func (*days) Type() string { return "duration" }
