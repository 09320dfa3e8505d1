package legacy

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The JSON here is readable by every SDK: only known fields, 64-bit integers as numbers, and lists that are never
// absent. Empty texts that SDKs before 3.2 do not know are left out.

type gameSession struct {
	GameSessionID   string     `json:"gameSessionId"`
	FleetID         string     `json:"fleetId"`
	Name            string     `json:"name,omitempty"`
	MaxPlayers      int32      `json:"maxPlayers"`
	Joinable        bool       `json:"joinable"`
	GameProperties  []property `json:"gameProperties"`
	IPAddress       string     `json:"ipAddress"`
	Port            int32      `json:"port"`
	GameSessionData string     `json:"gameSessionData,omitempty"`
	MatchmakerData  string     `json:"matchmakerData,omitempty"`
	DNSName         string     `json:"dnsName,omitempty"`
}

type property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// activateGameSession is the message of the push StartGameSession.
type activateGameSession struct {
	GameSession gameSession `json:"gameSession"`
}

type updateGameSession struct {
	GameSession      gameSession `json:"gameSession"`
	UpdateReason     string      `json:"updateReason"`
	BackfillTicketID string      `json:"backfillTicketId,omitempty"`
}

// terminateProcess has seconds for socket.io, and milliseconds for HTTP: the SDKs differ.
type terminateProcess struct {
	TerminationTime int64 `json:"terminationTime"`
}

func gameSessionOf(p processes.CreateGameSessionPush) gameSession {
	g := gameSession{
		GameSessionID: p.GameSessionID, FleetID: p.FleetID, Name: p.Name, MaxPlayers: p.MaximumPlayerSessionCount,
		Joinable: true, GameProperties: []property{}, IPAddress: p.IPAddress, Port: p.Port,
		GameSessionData: p.GameSessionData, MatchmakerData: p.MatchmakerData, DNSName: p.DNSName,
	}
	for _, key := range slices.Sorted(maps.Keys(p.GameProperties)) {
		g.GameProperties = append(g.GameProperties, property{key, p.GameProperties[key]})
	}
	return g
}

type playerSession struct {
	PlayerSessionID string `json:"playerSessionId"`
	PlayerID        string `json:"playerId"`
	GameSessionID   string `json:"gameSessionId"`
	FleetID         string `json:"fleetId"`
	IPAddress       string `json:"ipAddress"`
	Status          string `json:"status"`
	CreationTime    int64  `json:"creationTime"` // seconds since 1970
	TerminationTime int64  `json:"terminationTime,omitempty"`
	Port            int32  `json:"port"`
	PlayerData      string `json:"playerData,omitempty"`
	DNSName         string `json:"dnsName,omitempty"`
}

type playerSessions struct {
	NextToken      string          `json:"nextToken"`
	PlayerSessions []playerSession `json:"playerSessions"`
}

func playerSessionsOf(page processes.PlayerSessionPage) playerSessions {
	out := playerSessions{NextToken: page.NextToken, PlayerSessions: []playerSession{}}
	for _, s := range page.PlayerSessions {
		out.PlayerSessions = append(out.PlayerSessions, playerSession{
			PlayerSessionID: s.PlayerSessionID, PlayerID: s.PlayerID, GameSessionID: s.GameSessionID,
			FleetID: s.FleetID, IPAddress: s.IPAddress, Status: s.Status, CreationTime: seconds(s.CreationTime),
			TerminationTime: seconds(s.TerminationTime), Port: s.Port, PlayerData: s.PlayerData, DNSName: s.DNSName,
		})
	}
	return out
}

// seconds returns the seconds since 1970; 0 for the zero time.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

type backfillTicket struct {
	TicketID string `json:"ticketId"`
}

// A Certificate is the answer to GetInstanceCertificate: absolute paths of PEM files.
type Certificate struct {
	CertificatePath      string `json:"certificatePath"`
	CertificateChainPath string `json:"certificateChainPath"`
	PrivateKeyPath       string `json:"privateKeyPath"`
	HostName             string `json:"hostName"`
	RootCertificatePath  string `json:"rootCertificatePath"`
}

// failure is GameLiftResponse, the second argument of an acknowledgement that reports an error.
type failure struct {
	Status       string `json:"status"`
	ResponseData string `json:"responseData"`
	ErrorMessage string `json:"errorMessage"`
}

// failureOf returns the text for an error: ERROR_500 for one of the service, else ERROR_400.
func failureOf(err error) string {
	f := fault.Of(err)
	out := failure{Status: "ERROR_400", ErrorMessage: f.Message}
	if serviceFailed(f) {
		out.Status = "ERROR_500"
	}
	return textOf(out)
}

// serviceFailed reports whether an error is one of the service.
func serviceFailed(f *fault.Error) bool {
	return f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable
}

// textOf returns the JSON of one of the types above, which cannot fail.
func textOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
