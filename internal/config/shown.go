package config

import "net/url"

// hidden replaces a part of a URL that is not shown.
const hidden = "***"

// ShownURL returns a URL as logs and messages may show it: its user and its query may be secrets. A text that is not a
// URL is hidden as a whole.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}
