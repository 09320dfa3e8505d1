//go:build unix

package fault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/calls"
)

const (
	signInPassword = "correct horse battery staple"
	signInRole     = "developer" // built in
)

// A signInRegion is a cluster of three nodes where people sign in. The methods that end the test belong to the test's
// goroutine.
type signInRegion struct {
	*cluster
	http    *http.Client // follows no redirects
	api     *http.Client // of the AWS SDK
	root    aws.Credentials
	account string
	start   string // URL, as AWS's command line resolves it
}

// newSignInRegion starts a region.
func newSignInRegion(t *testing.T) *signInRegion {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	r := &signInRegion{
		cluster: newCluster(t, 3),
		http: &http.Client{Transport: transport, Timeout: limit,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		api: &http.Client{Transport: calls.WholeBodies{RoundTripper: transport}, Timeout: limit},
	}
	t.Cleanup(transport.CloseIdleConnections)
	r.share()
	r.cluster.start(t.Context(), r.nodes...)
	r.root.AccessKeyID, r.root.SecretAccessKey = r.keys(t.Context())
	var about struct{ Account string }
	r.mustDo(r.nodes[0], request{path: "/signin/configuration"}, &about)
	head := r.mustDo(r.nodes[0], request{method: http.MethodHead, path: "/start", want: http.StatusFound}, nil)
	r.account, r.start = about.Account, head.Get("Location")
	return r
}

// A request is what is sent to a node.
type request struct {
	method, path string          // GET
	keys         aws.Credentials // that sign it; the zero ones do not
	bearer       string
	cookie       *http.Cookie
	json         any        // the body,
	form         url.Values // or this
	want         int        // the status; 0 is 200
}

// A rawText is an answer that is not one JSON value.
type rawText string

// A rejection is an answer with another status than the wanted one.
type rejection struct {
	status  int
	code    string // of the exception
	message string
}

func (r *rejection) Error() string {
	return fmt.Sprintf("status %d: %s: %s", r.status, r.code, r.message)
}

// final reports whether a client that receives the answer does not send the request again.
func (r *rejection) final() bool { return r.status < http.StatusInternalServerError }

// do sends a request to a node. The error is a *rejection if the node has answered.
func (r *signInRegion) do(ctx context.Context, n *node, q request, answer any) (http.Header, error) {
	sent, err := r.build(ctx, n, &q)
	if err != nil {
		return nil, err
	}
	response, err := r.http.Do(sent)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if q.want == 0 {
		q.want = http.StatusOK
	}
	if response.StatusCode != q.want {
		return response.Header, newRejection(response, body)
	}
	switch to := answer.(type) {
	case nil:
	case *rawText:
		*to = rawText(body)
	default:
		err = json.Unmarshal(body, answer)
	}
	return response.Header, err
}

func (r *signInRegion) build(ctx context.Context, n *node, q *request) (*http.Request, error) {
	var body []byte
	kind := ""
	switch {
	case q.json != nil:
		text, err := json.Marshal(q.json)
		if err != nil {
			return nil, err
		}
		body, kind = text, "application/json"
	case q.form != nil:
		body, kind = []byte(q.form.Encode()), "application/x-www-form-urlencoded"
	}
	sent, err := http.NewRequestWithContext(ctx, q.method, "http://"+n.address+q.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		sent.Header.Set("Content-Type", kind)
	}
	if q.bearer != "" {
		sent.Header.Set("X-Amz-Sso_bearer_token", q.bearer)
	}
	if q.cookie != nil {
		sent.AddCookie(q.cookie)
	}
	if !q.keys.HasKeys() {
		return sent, nil
	}
	sum := sha256.Sum256(body)
	return sent, v4.NewSigner().SignHTTP(ctx, q.keys, sent, hex.EncodeToString(sum[:]), "gamelift", awsRegion,
		time.Now())
}

// newRejection reads the error of an answer, in the forms of SSO-OIDC, the portal and the operator's API.
func newRejection(response *http.Response, body []byte) *rejection {
	var text struct {
		Error, Message string
		Description    string `json:"error_description"`
	}
	if json.Unmarshal(body, &text) != nil {
		text.Message = string(body)
	}
	code := response.Header.Get("X-Amzn-Errortype")
	if code == "" {
		code = text.Error
	}
	return &rejection{response.StatusCode, code, text.Message + text.Description}
}

func (r *signInRegion) mustDo(n *node, q request, answer any) http.Header {
	r.t.Helper()
	header, err := r.do(r.t.Context(), n, q, answer)
	if err != nil {
		r.t.Fatalf("%s %s at %s: %v", q.method, q.path, n.name, err)
	}
	return header
}

// operate makes a call of the operator's API with the root key.
func (r *signInRegion) operate(n *node, method, path string, body, answer any) http.Header {
	r.t.Helper()
	return r.mustDo(n, request{method: method, path: path, keys: r.root, json: body}, answer)
}

// addUser creates a person with the role.
func (r *signInRegion) addUser(n *node, name string) {
	r.t.Helper()
	r.operate(n, http.MethodPost, "/v1/users", map[string]any{"name": name, "password": signInPassword}, nil)
	r.operate(n, http.MethodPut, "/v1/assignments/"+signInRole+"/"+name, nil, nil)
}

// disable disables a person.
func (r *signInRegion) disable(n *node, name string) {
	r.t.Helper()
	r.operate(n, http.MethodPatch, "/v1/users/"+name, map[string]any{"disabled": true}, nil)
}

// signIns counts the sessions of a person's programs.
func (r *signInRegion) signIns(n *node, name string) (count int) {
	r.t.Helper()
	var list struct{ SignIns []struct{ Kind string } }
	r.operate(n, http.MethodGet, "/v1/users/"+name+"/sign-ins", nil, &list)
	for _, s := range list.SignIns {
		if s.Kind == "sso" {
			count++
		}
	}
	return count
}

// client makes a client of one node that does not retry.
func (r *signInRegion) client(n *node, keys aws.Credentials) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		Region: awsRegion, BaseEndpoint: aws.String("http://" + n.address), Retryer: aws.NopRetryer{},
		HTTPClient: r.api, Credentials: credentials.StaticCredentialsProvider{Value: keys},
	})
}

// use makes a call of the API with keys.
func (r *signInRegion) use(ctx context.Context, n *node, keys aws.Credentials) error {
	_, err := r.client(n, keys).ListFleets(ctx, &gamelift.ListFleetsInput{})
	return err
}

// refused reports whether the keys are refused, as opposed to a node that cannot answer.
func (r *signInRegion) refused(ctx context.Context, n *node, keys aws.Credentials) bool {
	outcome, _ := calls.OutcomeOf(r.use(ctx, n, keys))
	return outcome == calls.Refused
}

// await waits until a condition holds.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}
