package control

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	var out strings.Builder
	err := Answer(strings.NewReader("report\nquit\nreport\n"), &out, Ready{"127.0.0.1:1"},
		func(command string) (any, error) { return command, nil })
	if want := "{\"address\":\"127.0.0.1:1\"}\n\"report\"\n"; err != nil || out.String() != want {
		t.Errorf("got %q, %v; want %q", out.String(), err, want)
	}
}

func TestAnswerFails(t *testing.T) {
	wrong := errors.New("wrong")
	err := Answer(strings.NewReader("report\n"), io.Discard, 1, func(string) (any, error) { return nil, wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}

// TestMain makes the test program a child when it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		err := Answer(os.Stdin, os.Stdout, Ready{"here"}, func(command string) (any, error) {
			if command == "fail" {
				return nil, errors.New("out of order")
			}
			return command, nil
		})
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T) *Child {
	t.Helper()
	var ready Ready
	c, err := Start(context.Background(), "child", []string{os.Args[0], "child"}, &ready)
	if err != nil || ready.Address != "here" {
		t.Fatalf("got %v, %v", ready, err)
	}
	return c
}

func TestChild(t *testing.T) {
	c := start(t)
	for _, command := range []string{Report, Collect} {
		var got string
		if err := c.Ask(command, &got); err != nil || got != command {
			t.Errorf("got %q, %v; want %q", got, err, command)
		}
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func TestChildFails(t *testing.T) {
	c := start(t)
	if err := c.Ask("fail", nil); err == nil {
		t.Error("no error")
	}
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v, want what the child said", err)
	}
}
