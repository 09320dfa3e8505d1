package sigv4

import "testing"

func TestAppendTrimmed(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "  ": "", "a": "a", " a  b   c ": "a b c", "a b": "a b", "  a": "a", "a \t": "a", `"x  y"`: `"x y"`,
	} {
		if got := string(appendTrimmed(nil, in)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestCleanPath(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "//": "/", "/a": "/a", "/a/": "/a/", "/a//b/": "/a/b/", "/a/../b": "/b", "/./a/.": "/a", "/../": "/",
	} {
		if got := cleanPath(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestAppendCanonicalQuery(t *testing.T) {
	for in, want := range map[string]string{
		"":              "",
		"a":             "a=",
		"b=2&a=1":       "a=1&b=2",
		"a=2&a=10":      "a=10&a=2",
		"a-b=1&a=2":     "a=2&a-b=1", // by name, not by the text of the pair
		"x=a+b&y=a%20b": "x=a%20b&y=a%20b",
		"k=%7e%2d%3D":   "k=~-%3D",
		"a=1&&b=2&":     "a=1&b=2",
		"k=a=b":         "k=a%3Db",
	} {
		if got, err := appendCanonicalQuery(nil, in, false); err != nil || string(got) != want {
			t.Errorf("%q gives %q, %v, want %q", in, got, err, want)
		}
	}
}
