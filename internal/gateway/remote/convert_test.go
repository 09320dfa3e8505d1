package remote

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/internal/wire"
)

// TestConversionsForgetNothing fills every member of a shape, converts it and
// looks for each member on the other side.
func TestConversionsForgetNothing(t *testing.T) {
	requests := map[string]any{
		"CreateGameSession":      convert[gamelift.CreateGameSessionInput, wire.CreateGameSessionInput],
		"SearchGameSessions":     convert[gamelift.SearchGameSessionsInput, wire.SearchGameSessionsInput],
		"UpdateGameSession":      convert[gamelift.UpdateGameSessionInput, wire.UpdateGameSessionInput],
		"TerminateGameSession":   convert[gamelift.TerminateGameSessionInput, wire.TerminateGameSessionInput],
		"CreatePlayerSessions":   convert[gamelift.CreatePlayerSessionsInput, wire.CreatePlayerSessionsInput],
		"DescribePlayerSessions": convert[gamelift.DescribePlayerSessionsInput, wire.DescribePlayerSessionsInput],
		"StartGameSessionPlacement": convert[gamelift.StartGameSessionPlacementInput,
			wire.StartGameSessionPlacementInput],
		"StopGameSessionPlacement": convert[gamelift.StopGameSessionPlacementInput,
			wire.StopGameSessionPlacementInput],
		"StartMatchmaking": convert[gamelift.StartMatchmakingInput, wire.StartMatchmakingInput],
		"AcceptMatch":      convert[gamelift.AcceptMatchInput, wire.AcceptMatchInput],
	}
	answers := map[string]any{
		"GameSession":          convert[wire.GameSession, types.GameSession],
		"PlayerSession":        convert[wire.PlayerSession, types.PlayerSession],
		"GameSessionPlacement": convert[wire.GameSessionPlacement, types.GameSessionPlacement],
		"MatchmakingTicket":    convert[wire.MatchmakingTicket, types.MatchmakingTicket],
	}
	for _, conversions := range []map[string]any{requests, answers} {
		for name, convert := range conversions {
			t.Run(name, func(t *testing.T) {
				f := reflect.ValueOf(convert)
				in := reflect.New(f.Type().In(0).Elem())
				(&filler{}).fill(in.Elem())
				out := reflect.Indirect(f.Call([]reflect.Value{in})[0])
				same(t, name, in.Elem(), out)
				// Nothing must come of nothing.
				empty := reflect.Indirect(f.Call([]reflect.Value{reflect.New(in.Type().Elem())})[0])
				if !empty.IsZero() {
					t.Errorf("%s: an empty shape became %+v", name, empty)
				}
			})
		}
	}
}

func TestConversionsKeepEmptyLists(t *testing.T) {
	in := convert[gamelift.CreateGameSessionInput](&wire.CreateGameSessionInput{GameProperties: []wire.GameProperty{}})
	if in.GameProperties == nil {
		t.Error("an empty list became an absent one")
	}
	if p := convert[types.GameProperty](&wire.GameProperty{Key: "mode"}); aws.ToString(p.Key) != "mode" ||
		p.Value == nil {
		t.Errorf("the empty value of a property went away: %+v", p)
	}
}

// A filler sets every member to a value that no other has.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	if set, ok := opt(f.n, v.Type()); ok {
		v.Set(set)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		f.fill(element)
		v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key %d", f.n)), element)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// opt makes the values that have no members of their own.
func opt(n int, of reflect.Type) (reflect.Value, bool) {
	var v any
	switch of {
	case reflect.TypeFor[wire.Opt[int32]]():
		v = wire.Some(int32(n))
	case reflect.TypeFor[wire.Opt[float32]]():
		v = wire.Some(float32(n) + 0.5)
	case reflect.TypeFor[wire.Opt[float64]]():
		v = wire.Some(float64(n) + 0.5)
	case reflect.TypeFor[wire.Opt[bool]]():
		v = wire.Some(true)
	case reflect.TypeFor[time.Time]():
		v = time.UnixMilli(int64(n)).UTC()
	default:
		return reflect.Value{}, false
	}
	return reflect.ValueOf(v), true
}

// same compares two shapes member by member, by name, and reports members that
// only one has.
func same(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	a, b = plain(a), plain(b)
	switch {
	case a.IsValid() != b.IsValid():
		t.Errorf("%s: one side has nothing", path)
	case !a.IsValid():
	case a.Kind() != b.Kind():
		t.Errorf("%s: %s and %s", path, a.Type(), b.Type())
	case a.Type() == reflect.TypeFor[time.Time](),
		a.CanConvert(b.Type()) && a.Comparable() && a.Kind() != reflect.Struct:
		if a.Convert(b.Type()).Interface() != b.Interface() {
			t.Errorf("%s: %v and %v", path, a, b)
		}
	case a.Kind() == reflect.Struct:
		for name := range members(a, b) {
			same(t, path+"."+name, a.FieldByName(name), b.FieldByName(name))
		}
	case a.Len() != b.Len():
		t.Errorf("%s: %d and %d elements", path, a.Len(), b.Len())
	case a.Kind() == reflect.Map:
		for key, value := range a.Seq2() {
			same(t, fmt.Sprintf("%s[%s]", path, key), value, b.MapIndex(key))
		}
	default:
		for i := range a.Len() {
			same(t, fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	}
}

// members are the names of the members of both.
func members(values ...reflect.Value) map[string]bool {
	names := map[string]bool{}
	for _, v := range values {
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				names[v.Type().Field(i).Name] = true
			}
		}
	}
	return names
}

// plain is what a pointer or an Opt holds.
func plain(v reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	if v.Kind() == reflect.Pointer {
		return v.Elem()
	}
	if get := v.MethodByName("Get"); get.IsValid() {
		if out := get.Call(nil); out[1].Bool() {
			return out[0]
		}
		return reflect.Value{}
	}
	return v
}
