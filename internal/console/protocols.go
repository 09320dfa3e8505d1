package console

import (
	"encoding/hex"
	"strconv"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxDump is the maximum number of bytes of a body that a page shows as hexadecimal digits.
const maxDump = 2048

// A message is a request or an answer in one of the protocols.
type message struct {
	Title, Head string // and the headers that matter
	Text        string // of the body: JSON, or CBOR in diagnostic notation
	Bytes       int    // of the body
	Dump        string // of CBOR
	Cut         bool   // the dump has the beginning only
}

// messages adds what is sent and received in both protocols. A body that cannot be read is in none.
func (b *explorerBody) messages(info *wire.OperationInfo, failure *fault.Error) {
	input := compact(b.Body)
	b.Messages = []message{{Title: "Request in JSON 1.1", Text: formatted(b.Body), Bytes: len(input),
		Head: "POST /\nX-Amz-Target: GameLift." + info.Name + "\nContent-Type: application/x-amz-json-1.1"}}
	const typ = "\nsmithy-protocol: rpc-v2-cbor\nContent-Type: application/cbor"
	if body, err := info.InputCBOR([]byte(b.Body)); err == nil {
		b.Messages = append(b.Messages, cborMessage("Request in CBOR",
			"POST /service/GameLift/operation/"+info.Name+typ, body))
	}
	if !b.Ran {
		return
	}
	status, answer := "200", []byte(compact(b.Answer))
	body, err := info.OutputCBOR(answer)
	if failure != nil {
		status, err = strconv.Itoa(failure.Kind.HTTPStatus()), nil
		answer = wire.AppendError(nil, wire.JSON, failure, info.Models(failure.Kind))
		body = wire.AppendError(nil, wire.CBOR, failure, info.Models(failure.Kind))
	}
	b.Messages = append(b.Messages, message{Title: "Answer in JSON 1.1", Text: formatted(string(answer)),
		Head: "HTTP/1.1 " + status + "\nContent-Type: application/x-amz-json-1.1", Bytes: len(answer)})
	if err == nil {
		b.Messages = append(b.Messages, cborMessage("Answer in CBOR", "HTTP/1.1 "+status+typ, body))
	}
}

func cborMessage(title, head string, body []byte) message {
	text, err := wire.Diagnose(body)
	if err != nil {
		text = ""
	}
	shown := body[:min(len(body), maxDump)]
	return message{Title: title, Head: head, Text: text, Bytes: len(body), Dump: hex.Dump(shown),
		Cut: len(shown) < len(body)}
}
