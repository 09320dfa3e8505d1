package region

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
)

// own are the types of this package, with an example each. Those of the rooms
// and of the catalog have their golden files in their packages.
var own = map[uint64]any{
	201: &RoomOpened{Fleet: "fleet-1", Location: "custom-home", After: 9},
	202: &RoomClosed{},
	203: &LevelRaised{Level: 2},
	204: &HistoryReached{Seq: 2, Settled: 3},
	250: &Header{Rooms: 7, After: 8},
}

// TestGolden holds the bytes of every type to its file, in both directions.
func TestGolden(t *testing.T) {
	for number, body := range own {
		t.Run(Events.Name(body), func(t *testing.T) {
			data := encode(t, []event.Fact{{Room: 7, Body: body}})
			text, err := json.MarshalIndent(body, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", fmt.Sprintf("%d_%s.txt", number, Events.Name(body)))
			eventtest.Golden(t, path, fmt.Sprintf("%x\n%s\n", data, text))
			first, _, _ := strings.Cut(eventtest.ReadGolden(t, path), "\n")
			kept, err := hex.DecodeString(first)
			if err != nil {
				t.Fatal(err)
			}
			if f := eventtest.Facts(t, Events, kept)[0]; !reflect.DeepEqual(f, event.Fact{Room: 7, Body: body}) {
				t.Errorf("%s is read as %+v", path, f)
			}
		})
	}
}

// TestEveryTypeHasAPlace: numbers tell whose a type is, and a number that was
// given is never missing. A change here must be on purpose.
func TestEveryTypeHasAPlace(t *testing.T) {
	for number, kind := range Events.Entries() {
		pkg := filepath.Base(kind.Elem().PkgPath())
		var want string
		switch {
		case number < 100, number >= 500:
			want = "catalog"
		case number < 200:
			want = "fleet"
		case number >= 400:
			want = "matchmaking"
		case number >= 300:
			want = "placement"
		default:
			want = "region"
			if own[number] == nil || reflect.TypeOf(own[number]) != kind {
				t.Errorf("%v, number %d, has no golden file", kind, number)
			}
		}
		if pkg != want {
			t.Errorf("%v has the number %d, which is for package %s", kind, number, want)
		}
	}
}
