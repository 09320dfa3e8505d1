package listen

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func networks(t testing.TB, list ...string) (n Proxies) {
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, p)
	}
	return n
}

func TestClientAddress(t *testing.T) {
	trusted := networks(t, "10.0.0.0/8", "2001:db8:ffff::/48")
	for _, tt := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"direct", "192.0.2.1:99", nil, "192.0.2.1"},
		{"direct, pretending", "192.0.2.1:99", []string{"203.0.113.9"}, "192.0.2.1"},
		{"one proxy", "10.0.0.1:99", []string{"203.0.113.9"}, "203.0.113.9"},
		{"pretending behind a proxy", "10.0.0.1:99", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		{"two proxies", "10.0.0.1:99", []string{"198.51.100.1, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"several lines", "10.0.0.1:99", []string{"198.51.100.1", "203.0.113.9", "10.0.0.2"}, "203.0.113.9"},
		{"proxies only", "10.0.0.1:99", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"nothing said", "10.0.0.1:99", nil, "10.0.0.1"},
		{"nonsense", "10.0.0.1:99", []string{"203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"empty entries", "10.0.0.1:99", []string{"203.0.113.9,,"}, "10.0.0.1"},
		{"ports", "10.0.0.1:99", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		{"IPv6", "[2001:db8:ffff::1]:99", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"IPv6 without port", "[2001:db8:ffff::1]:99", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:99", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"no address", "@", []string{"203.0.113.9"}, "invalid IP"},
	} {
		if got := trusted.ClientOf(ParseAddress(tt.remote), tt.forwarded).String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestEncryptedBehindProxy(t *testing.T) {
	trusted := networks(t, "10.0.0.0/8", "127.0.0.1/32")
	for _, tt := range []struct {
		peer  string
		tls   bool
		proto []string
		want  bool
	}{
		{"10.0.0.1", false, []string{"https"}, true},
		{"127.0.0.1", false, []string{"HTTPS"}, true},
		{"10.0.0.1", false, []string{"http"}, false},
		{"10.0.0.1", false, nil, false},
		{"10.0.0.1", false, []string{""}, false},
		{"10.0.0.1", false, []string{"https, http"}, false}, // the client has forged the first one
		{"10.0.0.1", false, []string{"https", "http"}, false},
		{"10.0.0.1", false, []string{"http, https"}, true},
		{"192.0.2.1", false, []string{"https"}, false},
		{"127.0.0.2", false, []string{"https"}, false},
		{"192.0.2.1", true, []string{"http"}, true},
		{"10.0.0.1", true, nil, true},
	} {
		if got := trusted.EncryptedOf(Client{ParseAddress(tt.peer), tt.tls}, tt.proto); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}

// FuzzClientAddress: whatever a client writes before them, what the proxies have
// added decides.
func FuzzClientAddress(f *testing.F) {
	for _, seed := range []string{"", "1.2.3.4", "10.0.0.9", ",", "a, b", "[::1]:2", "%", ", 10.0.0.3:1,"} {
		f.Add(seed)
	}
	trusted := networks(f, "10.0.0.0/8")
	f.Fuzz(func(t *testing.T, claimed string) {
		peer := ParseAddress("10.0.0.1:99")
		if got := trusted.ClientOf(peer, []string{claimed, "203.0.113.9, 10.0.0.2"}).String(); got != "203.0.113.9" {
			t.Errorf("%q made it %s", claimed, got)
		}
		if !trusted.ClientOf(peer, []string{claimed}).IsValid() {
			t.Errorf("%q left no address", claimed)
		}
		_ = trusted.ClientOf(ParseAddress(claimed), nil)
	})
}

// TestClientOfRequests holds that both ways to read a request find the same client, for each request of a connection.
func TestClientOfRequests(t *testing.T) {
	for _, tt := range []struct {
		trusted, forwarded, proto string
		want                      Client
	}{
		{"127.0.0.0/8", "198.51.100.1, 203.0.113.9", "https", Client{ParseAddress("203.0.113.9"), true}},
		{"127.0.0.0/8", "203.0.113.9", "http", Client{ParseAddress("203.0.113.9"), false}},
		{"127.0.0.0/8", "", "", Client{ParseAddress("127.0.0.1"), false}},
		{"10.0.0.0/8", "203.0.113.9", "https", Client{ParseAddress("127.0.0.1"), false}},
	} {
		seen := make(chan Client, 2)
		record := handle(func(_ context.Context, r *Request, a *Answer) {
			seen <- r.Client
			a.Status = http.StatusOK
		})
		proxies := networks(t, tt.trusted)
		s := NewServer(ServerConfig{Handler: record, Proxies: proxies, Accepts: func(r *Request) bool {
			return r.Path == "/fast"
		}})
		rest := &http.Server{ConnContext: proxies.ConnContext, Handler: http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { seen <- RequestOf(r).Client })}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Serve(l) }()
		go func() { _ = rest.Serve(s.Rest()) }()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(c)
		for _, path := range []string{"/fast", "/fast", "/rest"} {
			head := "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
			if tt.forwarded != "" {
				head += "X-Forwarded-For: " + tt.forwarded + "\r\n"
			}
			if tt.proto != "" {
				head += "X-Forwarded-Proto: " + tt.proto + "\r\n"
			}
			if _, err := io.WriteString(c, head+"\r\n"); err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != tt.want {
				t.Errorf("%+v: the client of %s is %+v", tt, path, got)
			}
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		c.Close()
		rest.Close()
		s.Close()
	}
}

func TestFromThisMachine(t *testing.T) {
	for _, tt := range []struct {
		peer, header string
		want         bool
	}{
		{"127.0.0.1:1", "", true}, {"[::1]:1", "", true}, {"192.0.2.1:1", "", false},
		{"127.0.0.1:1", "X-Forwarded-For", false}, {"127.0.0.1:1", "Via", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if r.RemoteAddr = tt.peer; tt.header != "" {
			r.Header.Set(tt.header, "127.0.0.1")
		}
		if got := FromThisMachine(r); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
