package wire

import "github.com/muster-gg/muster/internal/wire/fault"

// namespace precedes an exception's name where Smithy wants an absolute shape id.
const namespace = "com.amazonaws.gamelift#"

// AppendError appends the body of an error answer to dst and returns the extended slice. The message stands there
// twice: clients look for the modelled member "Message" or, for errors they do not know, for "message". modelledOnOp
// says whether the model lists the exception for the operation at hand: CBOR clients then expect its absolute shape id,
// and otherwise show the name as they got it. Source: Smithy specification, AWS JSON 1.1 and RPC v2 CBOR, "Operation
// error serialization".
func AppendError(dst []byte, p Protocol, f *fault.Error, modelledOnOp bool) []byte {
	name, message := string(f.Kind), f.Message
	if message == "" { // the model wants at least one character
		message = name
	}
	if p == CBOR && modelledOnOp {
		name = namespace + name
	}
	return AppendErrorBody(dst, p, name, message)
}

// AppendErrorBody appends the body of an error answer with the type and the message as they are.
func AppendErrorBody(dst []byte, p Protocol, name, message string) []byte {
	if p == CBOR {
		dst = appendCBORHead(dst, cborMap, 3)
		dst = appendCBORText(appendCBORText(dst, "__type"), name)
		dst = appendCBORText(appendCBORText(dst, "Message"), message)
		return appendCBORText(appendCBORText(dst, "message"), message)
	}
	dst = appendJSONText(append(dst, `{"__type":`...), name)
	dst = appendJSONText(append(dst, `,"Message":`...), message)
	dst = appendJSONText(append(dst, `,"message":`...), message)
	return append(dst, '}')
}
