package catalog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func viewMade(user, title, path string) Event { return &ViewPut{View{user, title, path}} }

func (w *world) viewCommand() Command {
	user, title := w.user(), w.some("view ", 4)
	if w.chance(4) {
		user = ""
	}
	if w.chance(3) {
		return DeleteView{user, title}
	}
	return PutView{user, title, w.some("/console/fleets?n=", 3)}
}

func TestViewCommands(t *testing.T) {
	ada := userMade("ada")
	busy := PutView{"ada", "busy", "/console/fleets?sort=players"}
	full := []Event{ada, viewMade("ada", "a", "/console/"), viewMade("ada", "b", "/console/"),
		viewMade("", "busy", "/console/")}
	invalid := func(name, title, path string) scene {
		return scene{name: name, given: []Event{ada}, when: PutView{"ada", title, path}, fault: fault.InvalidRequest}
	}
	play(t, []scene{
		{name: "put", given: []Event{ada}, when: busy, then: []Event{viewMade("ada", busy.Title, busy.Path)}},
		{name: "of the root", when: PutView{"", "busy", "/console/log"},
			then: []Event{viewMade("", "busy", "/console/log")}},
		{name: "the same", given: []Event{ada, viewMade("ada", busy.Title, busy.Path)}, when: busy},
		{name: "replace, at the limit", given: full, when: PutView{"ada", "a", "/console/log"},
			then: []Event{viewMade("ada", "a", "/console/log")}},
		{name: "too many", given: full, when: busy, fault: fault.LimitExceeded,
			text: "The limit of 2 saved views of a user is reached"},
		{name: "unknown user", when: busy, fault: fault.NotFound, text: "User ada not found"},
		{name: "longest", given: []Event{ada},
			when: PutView{"ada", strings.Repeat("ä", 64), "/console/log?text=" + strings.Repeat("x", 4096-18)},
			then: []Event{viewMade("ada", strings.Repeat("ä", 64),
				"/console/log?text="+strings.Repeat("x", 4096-18))}},
		invalid("no title", "", "/console/"),
		invalid("long title", strings.Repeat("x", 65), "/console/"),
		invalid("title with spaces", " busy", "/console/"),
		invalid("title of two lines", "a\nb", "/console/"),
		invalid("title that is no text", "\xff", "/console/"),
		invalid("no path", "busy", ""),
		invalid("long path", "busy", "/console/"+strings.Repeat("x", 4096)),
		invalid("another page", "busy", "/signin/out"),
		invalid("another site", "busy", "https://example.com/console/"),
		invalid("another host", "busy", "//example.com/console/"),
		invalid("line break", "busy", "/console/\n"),

		{name: "delete", given: full, when: DeleteView{"ada", "a"}, then: []Event{&ViewDeleted{"ada", "a"}}},
		{name: "delete another's", given: full, when: DeleteView{"ada", "busy"}, fault: fault.NotFound,
			text: "There is no saved view with the title busy"},
	})
}

// TestViews: views belong to one user, are deleted with it, and are in snapshots; below their level there are none.
func TestViews(t *testing.T) {
	s := given(t, DefaultLimits(), userMade("ada"), userMade("ad"), viewMade("ada", "b", "/console/"),
		viewMade("ada", "a", "/console/"), viewMade("ad", "c", "/console/"), viewMade("", "d", "/console/"),
		viewMade("gone", "e", "/console/"))
	if list := s.ViewsOf("ada"); len(list) != 2 || list[0].Title != "a" {
		t.Errorf("views %v", list)
	}
	before := encode(t, s)
	checkEqual(t, "snapshot", decode(t, DefaultLimits(), before), s)
	frozen := s.Copy()
	do(t, s, t0, DeleteUser{"ada"})
	do(t, s, t0, DeleteView{"", "d"})
	if len(s.ViewsOf("ada"))+len(s.ViewsOf("")) != 0 || len(s.ViewsOf("ad")) != 1 || len(s.ViewsOf("gone")) != 0 {
		t.Error("other views are left than those of ad")
	}
	if !bytes.Equal(before, encode(t, frozen)) {
		t.Error("the copy changed with the original")
	}
	s.Raise(ViewLevel - 1)
	for _, c := range []Command{PutView{"ad", "x", "/console/"}, DeleteView{"ad", "c"}} {
		_, err := given(t, DefaultLimits()).Decide(t0, c)
		if _, below := s.Decide(t0, c); below == nil || err != nil && fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("%T: %v", c, below)
		}
	}
}
