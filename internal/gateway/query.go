package gateway

import (
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire"
)

func (c *call) query() (*query, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, invalid("The query string is malformed.")
	}
	return &query{values: values}, nil
}

// A query is a query string, read strictly: parameters must be unique. The first problem is kept.
type query struct {
	values  map[string][]string
	problem error
}

func (q *query) get(name string) (string, bool) {
	list := q.values[name]
	if len(list) > 1 {
		q.wrong(name, "must be given once")
	}
	if len(list) != 1 {
		return "", false
	}
	return list[0], true
}

func (q *query) wrong(name, what string) {
	if q.problem == nil {
		q.problem = invalid("The parameter %s %s.", name, what)
	}
}

func (q *query) text(name string, most int) string {
	s, ok := q.get(name)
	if n := utf8.RuneCountInString(s); ok && (n == 0 || n > most || !utf8.ValidString(s)) {
		q.wrong(name, "must have 1 to "+strconv.Itoa(most)+" characters")
	}
	return s
}

func (q *query) integer(name string, least, most int64) wire.Opt[int32] {
	s, ok := q.get(name)
	if !ok {
		return wire.Opt[int32]{}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < least || n > most {
		q.wrong(name, "must be a whole number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return wire.Some(int32(n))
}

func (q *query) boolean(name string, def bool) bool {
	s, ok := q.get(name)
	if ok && s != "true" && s != "false" {
		q.wrong(name, "must be true or false")
	}
	if !ok {
		return def
	}
	return s == "true"
}
