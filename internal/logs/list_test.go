package logs

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// TestList: the logs of an hour are listed in pages, each once and in order.
func TestList(t *testing.T) {
	s := open(t, t.TempDir(), 1<<20, clockwork.NewFakeClockAt(began))
	for i := range 25 {
		if err := s.put(KeyOf("fleet-1", "box-1", fmt.Sprint(i)), "12345"); err != nil {
			t.Fatal(err)
		}
	}
	seen, after := 0, Key("")
	for {
		page, err := s.List(began, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.Key <= after || e.Size != 5 || !e.Stored.Equal(began) {
				t.Errorf("%+v after %s", e, after)
			}
			after = e.Key
			seen++
		}
		if len(page) < 10 {
			break
		}
	}
	if seen != 25 {
		t.Errorf("%d of 25 logs are listed", seen)
	}
	if page, err := s.List(began.Add(time.Hour), "", 10); err != nil || len(page) > 0 {
		t.Errorf("the next hour: %v, %v", page, err)
	}
}

// copied stores a copy of a log.
func (s *Store) copied(key Key, text string, stored time.Time) error {
	w, err := s.CreateCopy(key, int64(len(text)), stored)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return w.Commit()
}

// TestCopies: a copy is as old as its log, and never deletes newer ones.
func TestCopies(t *testing.T) {
	clock := clockwork.NewFakeClockAt(began)
	s := open(t, t.TempDir(), 10, clock)
	old, newer, third := KeyOf("f", "c", "1"), KeyOf("f", "c", "2"), KeyOf("f", "c", "3")
	if err := s.put(newer, "123456"); err != nil {
		t.Fatal(err)
	}
	yesterday := Entry{old, 4, began.Add(-24 * time.Hour)}
	if !s.Lacks(yesterday) {
		t.Error("the store does not lack a log that it has not")
	}
	if err := s.copied(old, "1234", yesterday.Stored); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Find(old); err != nil || !at.Equal(yesterday.Stored) || s.Lacks(yesterday) {
		t.Errorf("the copy was stored at %v, %v", at, err)
	}
	if s.Lacks(Entry{third, 1, began.Add(-Retention)}) {
		t.Error("the store lacks a log that is too old")
	}
	before := Entry{third, 1, yesterday.Stored.Add(-time.Hour)}
	if s.Lacks(before) || !errors.Is(s.copied(third, "1", before.Stored), ErrFull) {
		t.Error("a copy deletes newer logs")
	}
	after := Entry{third, 4, yesterday.Stored.Add(time.Hour)}
	if !s.Lacks(after) || s.copied(third, "1234", after.Stored) != nil || text(t, s, old) != "" {
		t.Error("the oldest copy is not deleted")
	}
	if *s.hours["2026-11-27T08"] != (hour{1, 4}) {
		t.Errorf("the hours are %+v", s.hours)
	}
}

// TestCountWithCopies: copies that an hour gets before its logs are counted after a restart are counted once.
func TestCountWithCopies(t *testing.T) {
	clock, dir := clockwork.NewFakeClockAt(began), t.TempDir()
	s := open(t, dir, 1<<20, clock)
	if err := s.put(KeyOf("f", "c", "1"), "1234"); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	s = open(t, dir, 1<<20, clock)
	if err := s.copied(KeyOf("f", "c", "2"), "12", began); err != nil {
		t.Fatal(err)
	}
	if err := s.countLate(t.Context()); err != nil || *s.hours["2026-11-28T07"] != (hour{2, 6}) {
		t.Errorf("the hours are %+v, %v", s.hours, err)
	}
}
