package console

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// outputTail is how much of the output of a process that runs a page reads, in bytes.
const outputTail = 64 << 10

// An outputBody is lines that a server process has written, newest first.
type outputBody struct {
	ID      string // of the process, or the ARN of a game session; "": none was chosen
	Session bool   // ID is of a game session
	Lines   []outputLine
	More    bool   // older ones are not shown
	Archive string // the address of the stored log; "": there is none yet, or none for this person
}

// An outputLine is a line of a process, or a note about the lines.
type outputLine struct {
	Time   time.Time // zero of a note
	Stream string    // out or err
	Text   string
	Note   bool
}

func outputPage(v *visit) error {
	b := outputBody{ID: strings.TrimSpace(v.form("id"))}
	b.Session = isGameSession(b.ID)
	p := page{Title: "Output", Nav: "/console/game-sessions",
		Crumbs: []link{{"Game sessions", "/console/game-sessions"}}, Body: &b}
	if b.ID == "" {
		return v.show("output", p)
	}
	err := v.readOutput(&b)
	p.Live = err == nil && b.Archive == "" // what is stored does not change
	p.Stream = "/console/output/live?" + url.Values{"id": {b.ID}}.Encode()
	return v.refused("output", p, err)
}

// isGameSession reports whether an id is of a game session and not of a process.
func isGameSession(id string) bool {
	return strings.Contains(id, "::gamesession/") || strings.HasPrefix(id, "gsess-")
}

func (v *visit) readOutput(b *outputBody) error {
	lines := tail{most: maxRecords}
	query := url.Values{"tail": {strconv.Itoa(outputTail)}}
	if err := v.requestTo(&lines, "GET", outputPath(b.ID, query), nil); err != nil {
		return err
	}
	b.More = lines.count > len(lines.lines)
	for _, text := range slices.Backward(lines.lines) {
		var l outputLine
		if json.Unmarshal(text, &l) == nil {
			b.Lines = append(b.Lines, l)
		}
	}
	b.Archive = v.archiveOf(b.ID)
	return nil
}

// outputPath returns the path of the output of a process, or of that of a game session.
func outputPath(id string, query url.Values) string {
	kind := "processes"
	if isGameSession(id) {
		kind = "game-sessions"
	}
	return in(kind, id, "log") + "?" + query.Encode()
}

// archiveOf returns the address, on this port, of the log of a game session that has ended.
func (v *visit) archiveOf(id string) string {
	if !strings.Contains(id, "::gamesession/") || !v.may("gamelift:GetGameSessionLogUrl", nil) {
		return ""
	}
	out, err := call(v, wire.OpGetGameSessionLogUrl, &wire.GetGameSessionLogUrlInput{GameSessionId: id})
	if err != nil { // it has not ended, for example
		return ""
	}
	u, err := url.Parse(out.PreSignedUrl)
	if err != nil {
		return ""
	}
	return "/logs/" + url.PathEscape(path.Base(u.Path)) + "?" + u.RawQuery
}

// followOutput signals how many lines a process has written since the stream began.
func followOutput(v *visit) error {
	id := strings.TrimSpace(v.form("id"))
	if err := v.requestTo(io.Discard, "GET", outputPath(id, url.Values{"tail": {"0"}}), nil); err != nil {
		return err
	}
	v.followLines(outputPath(id, url.Values{"tail": {"0"}, "follow": {"true"}}))
	return nil
}
