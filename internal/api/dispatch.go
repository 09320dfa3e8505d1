package api

import (
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	jsonType     = "application/x-amz-json-1.1"
	cborType     = "application/cbor"
	cborProtocol = "rpc-v2-cbor" // the value of the Smithy-Protocol header
)

// Matches reports whether a request is in one of the two protocols of the API, by its head.
func Matches(r *listen.Request) bool {
	return r.Header.Get("X-Amz-Target") != "" || r.Header.Get("Smithy-Protocol") != ""
}

// dispatch finds the protocol and operation of a request.
func (e *Endpoint) dispatch(c *call) error {
	r := c.request
	operation, contentType := jsonOperation, jsonType
	if r.Header.Get("Smithy-Protocol") == cborProtocol {
		c.protocol, operation, contentType = wire.CBOR, cborOperation, cborType
	}
	if r.Method != http.MethodPost {
		return fault.New(fault.UnknownOperation, "The method of the request must be POST.")
	}
	name, err := operation(r)
	if err != nil {
		return err
	}
	h, ok := e.handlers[name]
	if !ok {
		return fault.New(fault.UnknownOperation, "GameLift has no operation %.64q.", name)
	}
	c.handler = h
	return checkContent(r, contentType)
}

// cborOperation reads the operation from the last four segments of the path: service/GameLift/operation/{name}.
func cborOperation(r *listen.Request) (string, error) {
	_, targets := r.Header.Lookup("X-Amz-Target")
	if _, others := r.Header.Lookup("X-Amzn-Target"); targets+others > 0 {
		return "", fault.New(fault.Serialization,
			"A request in the protocol %s must not have an X-Amz-Target header.", cborProtocol)
	}
	rest, name := cutLast(r.Path)
	rest, operation := cutLast(rest)
	rest, service := cutLast(rest)
	_, start := cutLast(rest)
	gameLift := service == "GameLift" || service == "com.amazonaws.gamelift.GameLift"
	if start != "service" || operation != "operation" || name == "" || !gameLift {
		return "", fault.New(fault.UnknownOperation, "The path of a request in the protocol %s must end in "+
			"/service/GameLift/operation/ and an operation's name.", cborProtocol)
	}
	return name, nil
}

// cutLast splits the last segment off a path.
func cutLast(path string) (rest, segment string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// jsonOperation reads the operation from the X-Amz-Target header.
func jsonOperation(r *listen.Request) (string, error) {
	target, times := r.Header.Lookup("X-Amz-Target")
	if times != 1 {
		return "", fault.New(fault.UnknownOperation,
			"The request names no operation: it needs one X-Amz-Target header "+
				"of the form GameLift.ListFleets, or a Smithy-Protocol header with the value %s.", cborProtocol)
	}
	name, ok := strings.CutPrefix(target, "GameLift.")
	if !ok {
		return "", fault.New(fault.UnknownOperation, "The X-Amz-Target header must have the form GameLift.ListFleets.")
	}
	return name, nil
}

// checkContent rejects a body that is not of the protocol's type, before it is read. A request without a body needs no
// type.
func checkContent(r *listen.Request, want string) error {
	if r.ContentLength == 0 {
		return nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return fault.New(fault.Serialization, "The body must not be compressed.")
	}
	got, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(got), want) {
		return fault.New(fault.Serialization, "The Content-Type of the request must be %s.", want)
	}
	return nil
}
