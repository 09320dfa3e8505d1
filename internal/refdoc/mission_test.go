package refdoc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A missionItem is one thing that a document of the mission describes.
type missionItem struct {
	what string
	// tests show that it works: "directory.TestName", or "walk.number" for an item of make walkthrough.
	tests   []string
	differs string // why ours does something else; "": it works as described
}

// A missionDocument is one of the documents from which the libraries for games come.
type missionDocument struct {
	title, library string
	items          []missionItem
}

func works(what string, tests ...string) missionItem { return missionItem{what: what, tests: tests} }

func differs(what, reason string, tests ...string) missionItem {
	return missionItem{what, tests, reason}
}

var missionDocuments = []missionDocument{
	{"Create a session (Unreal online subsystem over GameLift)", "session", []missionItem{
		works("CreateSession makes a named session, Pending and changeable, without a request to the service",
			"walk.41", "session.TestNamedSessionAtTheService"),
		works("A name that is in use, at the service or on the local network, is refused",
			"walk.41", "session.TestNamedSessionOnTheLAN"),
		works("A session for the local network is created, started and found there instead",
			"walk.42", "session.TestNamedSessionOnTheLAN"),
		works("The owner's id and name are in the session",
			"session.TestNamedSessionAtTheService"),
		works("The build's id is in the settings, for compatibility", "session/direct.TestBuildIDIsAProperty"),
		works("Each call has one completion, also when it fails", "walk.54", "session.TestAsyncCompletesOnce"),
		works("StartSession is refused unless the session is Pending or Ended", "walk.43",
			"session.TestEveryCallInEveryState"),
		works("StartSession of an unknown name is refused", "walk.43", "session.TestEveryCallInEveryState"),
		works("StartSession posts session_name, build_id, uuid and num_connections to a path of the gateway",
			"session/gateway.TestPathsAndKeys"),
		differs("Without a name, the session is called after the account of the operating system",
			"The name of an account is personal data: the default is \"Session\".", "session.TestDefaultName"),
		works("num_connections is the sum of the private and the public places", "session.TestNamedSessionAtTheService",
			"internal/gateway.TestPlacesAreTheSum"),
		works("The gateway takes a fleet of the region, and its location",
			"internal/gateway.TestFirstFleetIsRemembered",
			"internal/gateway.TestLocationIsChosen"),
		works("It creates a game session with the name and the number of players", "walk.34"),
		works("It waits until the game session is ACTIVE", "walk.34",
			"internal/gateway.TestActivationIsAwaitedNotPolled"),
		works("It answers with the player session, as JSON", "walk.34", "internal/gateway.TestObjectsAreTheAPIs"),
		works("A failure is answered with the service's message", "walk.38", "internal/gateway.TestErrorContract"),
		works("The local variant takes any fleet id and no location", "walk.37", "internal/gateway.TestLocalIDs"),
		works("The client reads IpAddress, Port and PlayerSessionId; without one of them StartSession fails",
			"walk.41", "session/gateway.TestUnusableSuccess"),
		works("StartSession fails for a lost request, an answer that is not JSON, and one with an error",
			"session/gateway.TestUnusableSuccess", "session/gateway.TestNobodyThere", "session/gateway.TestRefusals"),
		works("GetResolvedConnectString gives address and port, to which the player travels", "walk.41"),
		works("The host of a session on the local network becomes a listen server", "walk.42"),
	}},
	{"Session management C++ API (O3DE's AWS GameLift gem)", "session and gameserver", []missionItem{
		works("ConfigureGameLiftClient takes a region", "walk.44", "session.TestConfigure"),
		works("CreateSession returns the id of a game session", "walk.45"),
		works("CreateSessionAsync notifies of it", "walk.45", "session.TestAsyncCompletesOnce"),
		works("An idempotency token makes a repeated call safe", "walk.45"),
		works("A session can be created on a queue", "walk.51", "session.TestCreateOnQueue"),
		works("SearchSessions returns the active sessions that match", "walk.47"),
		works("SearchSessionsAsync notifies of them", "walk.47"),
		works("JoinSession reserves a place and connects the player; it fails if either fails", "walk.48",
			"session.TestJoinFails"),
		works("JoinSessionAsync notifies of it", "walk.48"),
		works("LeaveSession disconnects the player, also in the game's callbacks", "walk.49",
			"session.TestLeaveFromACallback"),
		works("LeaveSessionAsync notifies of it", "walk.49"),
		works("The game session ends after its last player has left", "walk.50", "gameserver.TestLastPlayer"),
		works("NotifyGameLiftProcessReady makes the process ready", "walk.52", "gameserver.TestHostLife"),
		works("OnCreateSessionBegin has the session, and runs before it is ACTIVE", "walk.46",
			"gameserver.TestHostLife"),
		works("OnCreateSessionEnd runs when the session is ACTIVE", "walk.46", "gameserver.TestHostLife"),
		works("OnSessionHealthCheck is called regularly, and its answer is reported", "walk.52",
			"gameserver.TestHostHealth", "gameserver.TestUnhealthyProcess"),
		differs("OnDestroySessionBegin can prevent the end of the process",
			"The service ends the process anyway, minutes later: false delays the end by Config.DestroyLimit.",
			"gameserver.TestDestroyBeginTakesItsTime"),
		works("OnDestroySessionEnd runs after the end, to shut the program down", "walk.50", "gameserver.TestHostEnds"),
	}},
	{"Session management scripting (O3DE's AWS GameLift gem)", "session", []missionItem{
		works("Each operation has a form that waits and one that notifies", "walk.54",
			"session.TestAsyncCompletesOnce"),
		works("CreateSessionOnQueue has both forms", "walk.51", "session.TestAsyncCompletesOnce"),
		works("After JoinSession the player is connected, and in the server's game", "walk.48",
			"session.TestGamenetConnects"),
	}},
	{"Network library: session (a course on game servers in C++)", "gamenet", []missionItem{
		works("A service has an address, a session factory and a maximum of sessions",
			"gamenet.TestMaxSessions", "gamenet.TestEcho"),
		works("A client opens as many connections as it may have", "gamenet.TestMaxSessions"),
		works("Start without a factory fails", "gamenet.TestStartWithoutFactory"),
		works("Sessions are counted, and released when they end", "gamenet.TestClientKilled",
			"gamenet.TestInstantDisconnects"),
		works("CloseService ends all sessions", "gamenet.TestCloseBusy", "gamenet.TestCloseForced"),
		works("The session is the game's class: OnConnected, OnRecv, OnSend, OnDisconnected", "gamenet.TestHelloWorld",
			"gamenet.TestSendInCallbacks"),
		differs("OnRecv returns how many bytes it has used",
			"A codec splits the stream: OnPacket receives whole packets, or with Raw the bytes as they come.",
			"gamenet.TestCoalescedPackets"),
		works("Send may be called by any thread, and queues", "gamenet.TestStorm", "gamenet.TestOrder"),
		works("Disconnect has a cause, and happens once", "gamenet.TestReason", "gamenet.TestDisconnectInCallbacks"),
		works("The end of the stream, and a reset connection, disconnect the session", "gamenet.TestDataThenFIN",
			"gamenet.TestDataThenRST"),
		differs("Several threads call Dispatch of one completion port",
			"The runtime of Go does that: each session has a goroutine.", "gamenet.TestStorm"),
		works("The echo server and its client print what the course shows", "gamenet.TestHelloWorld"),
	}},
}

// missionPage shows which tests hold what the documents of the mission describe.
func missionPage() ([]byte, error) {
	var b bytes.Buffer
	all, different := 0, 0
	for _, d := range missionDocuments {
		for _, i := range d.items {
			all++
			if i.differs != "" {
				different++
			}
		}
	}
	fmt.Fprintf(&b, missionHead, all, all-different, different)
	number := 0
	for _, d := range missionDocuments {
		fmt.Fprintf(&b, "\n## %s\n\nLibrary: %s.\n\n| | Item | | Tests |\n|---|---|---|---|\n", d.title, d.library)
		for _, i := range d.items {
			number++
			tests := make([]string, len(i.tests))
			for n, test := range i.tests {
				link, err := missionTest(test)
				if err != nil {
					return nil, fmt.Errorf("item %d: %w", number, err)
				}
				tests[n] = link
			}
			verdict := "works"
			if i.differs != "" {
				verdict = "**differs**: " + i.differs
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", number, i.what, verdict, strings.Join(tests, ", "))
		}
	}
	return b.Bytes(), nil
}

const missionHead = `# What the documents of the mission describe

The libraries for games come from four documents. Each thing that these describe is an item here, with the tests that
hold it: of %d items %d work as described, and %d differ for a reason. A test that is a number is an item of
` + "`make walkthrough`" + `.

This page is written by ` + "`make generate`" + `, which fails if a test does not exist.
`

// missionTest returns the link to a test, which must exist.
func missionTest(test string) (link string, err error) {
	dir, name, _ := strings.Cut(test, ".")
	declaration, shown := `(?m)^func `+name+`\(`, "`"+name+"`"
	if dir == "walk" {
		dir, declaration, shown = "e2e/sessions", `(?m)^\t\t`+name+`, "`, name
	}
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if regexp.MustCompile(declaration).Match(text) {
			return fmt.Sprintf("[%s](../../%s/%s)", shown, dir, filepath.Base(file)), nil
		}
	}
	return "", fmt.Errorf("there is no test %s", test)
}

func TestMissionTestMustExist(t *testing.T) {
	for _, test := range []string{"session.TestNothing", "walk.99", "nowhere.TestConfigure"} {
		if link, err := missionTest(test); err == nil {
			t.Errorf("%s has the link %s", test, link)
		}
	}
}
