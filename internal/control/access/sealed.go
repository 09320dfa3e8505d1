package access

import (
	"encoding/binary"
	"maps"
	"slices"
)

// sealed is the content of a session token.
type sealed struct {
	User        string
	Role        string
	RoleID      string // of a later role with the same name it is another
	Arn         string
	SessionName string
	SignIn      string
	Key         string // the long-lived key behind it: it ends with that
	Policy      string // the document of the session policy
	Source      string // the source identity
	UserID      string // of the user, as RoleID
	Secret      string // the secret access key

	Issued   int64 // Unix milliseconds, as those that follow
	Expires  int64
	Until    int64 // when sessions end that begin with this one; 0: never
	Assigned bool  // by assignment: it must be still

	Policies []string // session policies, managed ones by name
	Tags     map[string]string

	Instance string // of a fleet with the role; it must exist still
}

// sealedForm begins the encoding. A token in another form is of another release, and is refused.
const sealedForm = 1

// texts returns the texts in the order of the encoding.
func (s *sealed) texts() [11]*string {
	return [...]*string{&s.User, &s.Role, &s.RoleID, &s.Arn, &s.SessionName, &s.SignIn, &s.Key, &s.Policy, &s.Source,
		&s.UserID, &s.Secret}
}

// encode returns the form byte, the texts, each behind its length, the numbers, and the lists, each behind its length.
// It is read for each call with a token that the node has not seen: a general codec takes a third of that time.
func (s *sealed) encode() []byte {
	dst := []byte{sealedForm}
	text := func(t string) { dst = append(binary.AppendUvarint(dst, uint64(len(t))), t...) }
	for _, t := range s.texts() {
		text(*t)
	}
	for _, n := range [...]int64{s.Issued, s.Expires, s.Until} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	assigned := byte(0)
	if s.Assigned {
		assigned = 1
	}
	dst = binary.AppendUvarint(append(dst, assigned), uint64(len(s.Policies)))
	for _, name := range s.Policies {
		text(name)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.Tags)))
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		text(key)
		text(s.Tags[key])
	}
	if s.Instance != "" { // earlier releases refuse these tokens, and read all others
		text(s.Instance)
	}
	return dst
}

// decode reads what encode returned. The texts share their memory.
func (s *sealed) decode(body []byte) bool {
	r := sealedReader{rest: string(body), ok: true}
	if r.one() != sealedForm {
		return false
	}
	for _, t := range s.texts() {
		*t = r.text()
	}
	for _, n := range [...]*int64{&s.Issued, &s.Expires, &s.Until} {
		*n = int64(r.number())
	}
	s.Assigned = r.one() == 1
	for range r.number() {
		if s.Policies = append(s.Policies, r.text()); !r.ok {
			return false
		}
	}
	if n := r.number(); n > 0 {
		s.Tags = make(map[string]string)
		for range n {
			key := r.text()
			if s.Tags[key] = r.text(); !r.ok {
				return false
			}
		}
	}
	if r.rest != "" {
		if s.Instance = r.text(); s.Instance == "" {
			return false
		}
	}
	return r.ok && r.rest == ""
}

// A sealedReader reads what is left of an encoding. It returns zero values when that is not one.
type sealedReader struct {
	rest string
	ok   bool
}

func (r *sealedReader) one() byte {
	if r.rest == "" {
		r.ok = false
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *sealedReader) number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.one()
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
	r.ok = false
	return 0
}

func (r *sealedReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.ok, r.rest = false, ""
		return ""
	}
	t := r.rest[:n]
	r.rest = r.rest[n:]
	return t
}
