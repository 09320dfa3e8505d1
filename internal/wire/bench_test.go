package wire

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// plainInput and plainOutput have the members of CreatePlayerSessions in a form
// that the reflecting libraries take.
type plainInput struct {
	GameSessionId string
	PlayerIds     []string
	PlayerDataMap map[string]string `json:",omitempty" cbor:",omitempty"`
}

type plainOutput struct{ PlayerSessions []plainSession }

type plainSession struct {
	CreationTime    float64
	DnsName         string `json:",omitempty" cbor:",omitempty"`
	FleetArn        string
	FleetId         string
	GameSessionId   string
	IpAddress       string
	PlayerId        string
	PlayerSessionId string
	Port            int
	Status          string
}

// crowd is the input for 25 players, the most that one request may bring, and its output.
func crowd() (*CreatePlayerSessionsInput, *CreatePlayerSessionsOutput) {
	in := &CreatePlayerSessionsInput{GameSessionId: "arn:aws:gamelift:eu-central-1::gamesession/" +
		"fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa/custom-frankfurt/gsess-1234abcd"}
	out := new(CreatePlayerSessionsOutput)
	for i := range 25 {
		id := fmt.Sprintf("player-%08d", i)
		in.PlayerIds = append(in.PlayerIds, id)
		out.PlayerSessions = append(out.PlayerSessions, PlayerSession{
			CreationTime: time.UnixMilli(1469498468057).UTC(), Status: PlayerSessionStatusReserved,
			FleetArn: "arn:aws:gamelift:eu-central-1:111122223333:fleet/fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa",
			FleetId:  "fleet-2222bbbb-33cc-44dd-55ee-6666ffff77aa", GameSessionId: in.GameSessionId,
			IpAddress: "192.0.2.7", PlayerId: id, PlayerSessionId: "psess-1111aaaa-22bb-33cc-44dd-" + id,
			Port: Some(int32(7777)),
		})
	}
	return in, out
}

// BenchmarkDecode reads the request, checks included, beside libraries that only read.
func BenchmarkDecode(b *testing.B) {
	in, _ := crowd()
	text, binary := written(JSON, in), written(CBOR, in)
	run := func(name string, body []byte, read func([]byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := read(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	ours := func(p Protocol) func([]byte) error {
		return func(body []byte) error { _, err := OpCreatePlayerSessions.Decode(p, body); return err }
	}
	run("JSON/wire", text, ours(JSON))
	run("JSON/encoding", text, func(body []byte) error { return json.Unmarshal(body, new(plainInput)) })
	run("CBOR/wire", binary, ours(CBOR))
	run("CBOR/fxamacker", binary, func(body []byte) error { return cbor.Unmarshal(body, new(plainInput)) })
}

// BenchmarkEncode writes the answer into a buffer that is used again.
func BenchmarkEncode(b *testing.B) {
	_, out := crowd()
	var other plainOutput
	for _, s := range out.PlayerSessions {
		other.PlayerSessions = append(other.PlayerSessions, plainSession{
			CreationTime: 1469498468.057, FleetArn: s.FleetArn, FleetId: s.FleetId, GameSessionId: s.GameSessionId,
			IpAddress: s.IpAddress,
			PlayerId:  s.PlayerId, PlayerSessionId: s.PlayerSessionId, Port: int(s.Port.Or(0)),
			Status: string(s.Status),
		})
	}
	run := func(name string, write func() (int, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := write()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(n))
			}
		})
	}
	var buffer []byte
	ours := func(p Protocol) func() (int, error) {
		return func() (int, error) {
			buffer = OpCreatePlayerSessions.Append(buffer[:0], p, out)
			return len(buffer), nil
		}
	}
	run("JSON/wire", ours(JSON))
	run("JSON/encoding", func() (int, error) { body, err := json.Marshal(other); return len(body), err })
	run("CBOR/wire", ours(CBOR))
	run("CBOR/fxamacker", func() (int, error) { body, err := cbor.Marshal(other); return len(body), err })
}
