package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ViewLevel is the feature level from which the catalog holds saved views.
const ViewLevel = 7

// Bounds of a saved view: our choice. The address has room for a filter of SearchGameSessions (1,024 characters).
const (
	maxViewTitle = 64   // characters
	maxViewPath  = 4096 // bytes
)

// viewPrefix is the path of all pages of the console.
const viewPrefix = "/console/"

// A View is the address of a page of the console that a user has saved under a title. Titles are unique for each user.
type View struct {
	User  string `cbor:"1,keyasint,omitempty"` // its name; "": the root
	Title string `cbor:"2,keyasint,omitempty"`
	Path  string `cbor:"3,keyasint,omitempty"` // with its query; the caller checks where it leads
}

// PutView stores a view, or replaces the one of the user with the same title. NotFound for the user, InvalidRequest,
// LimitExceeded.
type PutView struct {
	User  string `cbor:"1,keyasint,omitzero"`
	Title string `cbor:"2,keyasint,omitzero"`
	Path  string `cbor:"3,keyasint,omitzero"`
}

// DeleteView deletes a view. NotFound.
type DeleteView struct {
	User  string `cbor:"1,keyasint,omitzero"`
	Title string `cbor:"2,keyasint,omitzero"`
}

// ViewPut follows PutView.
type ViewPut struct{ View }

// ViewDeleted follows DeleteView.
type ViewDeleted struct {
	User  string `cbor:"1,keyasint,omitempty"`
	Title string `cbor:"2,keyasint,omitempty"`
}

func (c PutView) decide(s *State, _ event.Time) ([]Event, error) {
	v := View(c)
	if err := v.check(); err != nil {
		return nil, err
	}
	if v.User != "" && s.user(v.User) == nil {
		return nil, userNotFound(v.User)
	}
	old, exists := s.views.Get(join(v.User, v.Title))
	if same(old, v) {
		return nil, nil
	}
	if !exists {
		if err := checkLimit(len(s.ViewsOf(v.User)), s.limits.ViewsPerUser, "saved views of a user"); err != nil {
			return nil, err
		}
	}
	return []Event{&ViewPut{v}}, nil
}

func (v View) check() error {
	n := utf8.RuneCountInString(v.Title)
	if n < 1 || n > maxViewTitle || !utf8.ValidString(v.Title) || v.Title != strings.TrimSpace(v.Title) ||
		strings.ContainsFunc(v.Title, unicode.IsControl) {
		return fault.New(fault.InvalidRequest, "title must have 1 to %d characters, without control characters and "+
			"without spaces around them", maxViewTitle)
	}
	if !strings.HasPrefix(v.Path, viewPrefix) || len(v.Path) > maxViewPath || !utf8.ValidString(v.Path) ||
		strings.ContainsFunc(v.Path, unicode.IsControl) {
		return fault.New(fault.InvalidRequest, "path must begin with %s and have at most %d bytes, without control "+
			"characters", viewPrefix, maxViewPath)
	}
	return nil
}

func (c DeleteView) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.views.Get(join(c.User, c.Title)); !ok {
		return nil, fault.New(fault.NotFound, "There is no saved view with the title %.200s", c.Title)
	}
	return []Event{&ViewDeleted{User: c.User, Title: c.Title}}, nil
}

func (e *ViewPut) apply(s *State) { s.putView(&e.View) }

func (e *ViewDeleted) apply(s *State) { s.views.Delete(join(e.User, e.Title)) }

// putView stores a view, if its user exists.
func (s *State) putView(v *View) {
	if v.User == "" || s.user(v.User) != nil {
		s.views.Set(join(v.User, v.Title), v)
	}
}

// ViewsOf returns the saved views of a user by title, or those of the root for "".
func (s *State) ViewsOf(user string) []*View { return entries(&s.views, user) }
