package webhook

import (
	"errors"
	"net/url"
)

// Hidden stands for a part of a URL that is not shown.
const Hidden = "***"

// ShownURL is a URL as logs and messages may show it: its user and its query may be
// secrets. What is no URL is hidden in whole.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Hidden
	}
	if u.User != nil {
		u.User = url.User(Hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = Hidden
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// withoutURL is an error of a request without the URL that it repeats.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
