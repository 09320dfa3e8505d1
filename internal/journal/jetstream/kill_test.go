package jetstream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// childDir names the directory in which this binary is to append, instead of
// testing, until it is killed.
const childDir = "MUSTER_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, appendForever(context.Background(), dir))
		os.Exit(1)
	}
	if config := os.Getenv(childNode); config != "" {
		fmt.Fprintln(os.Stderr, beNode(context.Background(), config))
		os.Exit(1)
	}
	leaktest.Main(m, serverLeaks...)
}

// appendForever says "opened", then the number of each record that is durable.
// Now and then it writes a snapshot, and says nothing about it.
func appendForever(ctx context.Context, dir string) error {
	e, err := jetstream.Open(ctx, jetstream.Config{Dir: dir})
	if err != nil {
		return err
	}
	j, err := e.Journal(ctx, 0)
	if err != nil {
		return err
	}
	last, _, err := j.LoadSnapshot(ctx)
	if err != nil {
		return err
	}
	if err := j.Replay(ctx, last, func(seq uint64, _ []byte) error { last = seq; return nil }); err != nil {
		return err
	}
	fmt.Println("opened")
	for {
		if last, err = j.Append(ctx, last, record(last+1)); err != nil {
			return err
		}
		fmt.Println(last)
		if last%60 == 0 {
			err := j.SaveSnapshot(ctx, last, journaltest.Writing(strings.Repeat(fmt.Sprintln(last), 100_000)))
			if err != nil {
				return err
			}
		}
	}
}

// record is what stands in the record with this number: of different sizes, and
// different everywhere.
func record(seq uint64) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("%d,", seq), int(1+seq*7919%3000)))
}

// A process that is killed at any moment loses nothing that it acknowledged.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := uint64(0)
	for _, lines := range []int{2, 100, 57, 1, 150, 61} {
		acknowledged = max(acknowledged, killAfter(t, dir, lines))
		verify(t, dir, acknowledged)
	}
	if acknowledged < 300 {
		t.Errorf("only %d records were acknowledged", acknowledged)
	}
}

// killAfter runs a child, kills it when it has said so many lines, and returns
// the last number that it said.
func killAfter(t *testing.T, dir string, lines int) (acknowledged uint64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == lines {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		line, err := said.ReadString('\n') // what was said before the kill counts, too
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seq, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64); err == nil {
			acknowledged = seq
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() == 1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	return acknowledged
}

// verify looks for all records up to the one acknowledged last.
func verify(t *testing.T, dir string, acknowledged uint64) {
	t.Helper()
	e := open(t, dir)
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	seq, r, err := j.LoadSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		data, err := io.ReadAll(r)
		if want := strings.Repeat(fmt.Sprintln(seq), 100_000); err != nil || string(data) != want {
			t.Errorf("the snapshot of %d has %d bytes, want %d; %v", seq, len(data), len(want), err)
		}
	}
	if want := max(seq, 60) - 60; acknowledged > 180 && replayFrom(t, j, want) < acknowledged {
		t.Errorf("the older snapshot's records are gone")
	}
	if last := replayFrom(t, j, seq); last < acknowledged {
		t.Errorf("the journal ends with %d, and %d was acknowledged", last, acknowledged)
	}
}

// replayFrom checks the bytes of all records after the given one, and returns
// the number of the last.
func replayFrom(t *testing.T, j journal.Journal, after uint64) (last uint64) {
	t.Helper()
	last = after
	err := j.Replay(t.Context(), after, func(seq uint64, data []byte) error {
		if last++; seq != last || string(data) != string(record(seq)) {
			return fmt.Errorf("record %d is damaged, or %d was expected", seq, last)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return last
}
