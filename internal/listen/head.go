package listen

import (
	"bytes"
	"strings"
)

// maxFields is the maximum number of fields of a plain request.
const maxFields = 64

// A lineScan finds the end of a head in bytes that arrive piece by piece.
type lineScan struct {
	start int // of the line that is not yet whole
}

// end returns the length of the head at the start of b with the empty line, or 0 when its end has not arrived. plain is
// false when a line ends in LF alone.
func (s *lineScan) end(b []byte) (length int, plain bool) {
	for {
		i := bytes.IndexByte(b[s.start:], '\n')
		switch {
		case i < 0:
			return 0, true
		case i == 0 || b[s.start+i-1] != '\r':
			return 0, false
		case i == 1:
			return s.start + 2, true
		}
		s.start += i + 1
	}
}

const method = "POST "

// mayBePlain reports whether b, the start of a head, can be that of a plain request.
func mayBePlain(b []byte) bool {
	return strings.HasPrefix(method, string(b[:min(len(b), len(method))]))
}

// parse reads the head of a request, which ends in an empty line, and reports whether it is plain.
func (r *Request) parse(head string) bool {
	line, rest, _ := strings.Cut(head, "\r\n")
	target, ok := strings.CutPrefix(line, method)
	if ok {
		target, ok = strings.CutSuffix(target, " HTTP/1.1")
	}
	if !ok || !r.setTarget(target) {
		return false
	}
	r.Method, r.Host, r.Header, r.ContentLength = method[:len(method)-1], "", r.Header[:0], -1
	for rest != "\r\n" {
		if line, rest, ok = strings.Cut(rest, "\r\n"); !ok || !r.addLine(line) {
			return false
		}
	}
	r.ContentLength = max(0, r.ContentLength) // without Content-Length there is no body
	return r.Host != ""
}

// setTarget sets the target: a path without escapes, and maybe a query.
func (r *Request) setTarget(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for i := range len(path) {
		if kinds[path[i]]&ofPath == 0 {
			return false
		}
	}
	for i := range len(query) {
		if kinds[query[i]]&ofQuery == 0 {
			return false
		}
	}
	r.Target, r.Path = target, path
	return true
}

// addLine adds a field of the head.
func (r *Request) addLine(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || len(r.Header) == maxFields {
		return false
	}
	for i := range len(name) {
		if kinds[name[i]]&ofName == 0 {
			return false
		}
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if kinds[value[i]]&ofValue == 0 {
			return false
		}
	}
	return r.add(Field{name, value})
}

// add adds a field, or returns false for one that changes how the request must be read.
func (r *Request) add(f Field) bool {
	switch len(f.Name) { // a comparison for most fields
	case len("Host"):
		if f.Is("Host") {
			if r.Host != "" || !isHost(f.Value) {
				return false
			}
			r.Host = f.Value
			return true
		}
	case len("Expect"):
		if f.Is("Expect") {
			return false
		}
	case len("Upgrade"): // and Trailer
		if f.Is("Upgrade") || f.Is("Trailer") {
			return false
		}
	case len("Connection"):
		if f.Is("Connection") && !equalFold(f.Value, "keep-alive") {
			return false
		}
	case len("Content-Length"):
		if f.Is("Content-Length") && !r.setLength(f.Value) {
			return false
		}
	case len("Transfer-Encoding"):
		if f.Is("Transfer-Encoding") {
			return false
		}
	}
	r.Header = append(r.Header, f)
	return true
}

// setLength sets the length of the body, once, from at most nine digits.
func (r *Request) setLength(digits string) bool {
	if r.ContentLength >= 0 || digits == "" || len(digits) > 9 {
		return false
	}
	r.ContentLength = 0
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
		r.ContentLength = 10*r.ContentLength + int64(digits[i]-'0')
	}
	return true
}

// isHost reports whether s consists of the characters of names, addresses and ports.
func isHost(s string) bool {
	for i := range len(s) {
		if kinds[s[i]]&ofHost == 0 {
			return false
		}
	}
	return s != ""
}

// The parts of a plain request that may contain a byte.
const (
	ofPath = 1 << iota
	ofQuery
	ofName
	ofValue
	ofHost
)

// kinds are the parts that may contain each byte: fewer than the standards allow for a path, a query and a host.
// Sources: RFC 3986, sections 2 and 3.3; RFC 9110, sections 5.1, 5.5 and 5.6.2.
var kinds = func() (k [256]uint8) {
	set := func(chars string, kind uint8) {
		for i := range len(chars) {
			k[chars[i]] |= kind
		}
	}
	for c := byte(0x20); c < 0x7f; c++ {
		k[c] = ofValue
	}
	k['\t'] = ofValue
	const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	set(alphanumeric, ofPath|ofQuery|ofName|ofHost)
	set("-._~!$&'()*+,;=:@/", ofPath|ofQuery)
	set("%?", ofQuery)
	set("!#$%&'*+-.^_`|~", ofName)
	set("-._:[]", ofHost)
	return k
}()
