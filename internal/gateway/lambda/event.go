package lambda

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

const requestIDHeader = "X-Request-Id"

// An event is a request in one of API Gateway's forms.
type event interface {
	request(ctx context.Context, basePath string) (*http.Request, error)
	answer(*answer) any
}

// read decodes an event: the newer form has a version, the older one httpMethod.
func read(payload []byte) (event, error) {
	var form struct {
		Version    string `json:"version"`
		HTTPMethod string `json:"httpMethod"`
	}
	if err := json.Unmarshal(payload, &form); err != nil {
		return nil, fmt.Errorf("the event is not of API Gateway: %w", err)
	}
	var e event
	switch {
	case form.Version == "2.0":
		e = &httpEvent{}
	case form.HTTPMethod != "":
		e = &restEvent{}
	default:
		return nil, errors.New("the event is not of API Gateway: it has neither version 2.0 nor httpMethod; make " +
			"the function the target of a proxy integration")
	}
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, fmt.Errorf("the event is not of API Gateway: %w", err)
	}
	return e, nil
}

// restEvent is an event of a REST API. Source: API Gateway developer guide, "Input format of a Lambda function for
// proxy integration".
type restEvent events.APIGatewayProxyRequest

func (e *restEvent) request(ctx context.Context, basePath string) (*http.Request, error) {
	header := make(http.Header)
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	for name := range e.MultiValueHeaders { // includes the single values
		header.Del(name)
	}
	for name, values := range e.MultiValueHeaders {
		for _, v := range values {
			header.Add(name, v)
		}
	}
	query := make(url.Values)
	for name, value := range e.QueryStringParameters {
		query.Set(name, value)
	}
	for name, values := range e.MultiValueQueryStringParameters {
		query[name] = values
	}
	return parts{
		method: e.HTTPMethod, path: e.plainPath(basePath), query: query.Encode(), header: header,
		host: e.RequestContext.DomainName, address: e.RequestContext.Identity.SourceIP, id: e.RequestContext.RequestID,
		body: e.Body, base64: e.IsBase64Encoded,
	}.request(ctx)
}

// plainPath returns the path of the API's resource, without the prefix of a custom domain or the stage.
func (e *restEvent) plainPath(basePath string) string {
	if resource := expand(e.Resource, e.PathParameters); resource != "" && strings.HasSuffix(e.Path, resource) {
		return resource
	}
	path := without(e.Path, basePath)
	if e.RequestContext.Path == e.Path { // unchanged, with the stage if there is one
		path = without(path, e.RequestContext.Stage)
	}
	return path
}

// httpEvent is an event of an HTTP API or a function URL. Source: API Gateway developer guide, "Lambda proxy
// integrations for HTTP APIs", payload format 2.0.
type httpEvent events.APIGatewayV2HTTPRequest

func (e *httpEvent) request(ctx context.Context, basePath string) (*http.Request, error) {
	header := make(http.Header)
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	return parts{
		method: e.RequestContext.HTTP.Method, path: e.plainPath(basePath), query: e.RawQueryString, header: header,
		host: e.RequestContext.DomainName, address: e.RequestContext.HTTP.SourceIP, id: e.RequestContext.RequestID,
		body: e.Body, base64: e.IsBase64Encoded,
	}.request(ctx)
}

func (e *httpEvent) plainPath(basePath string) string {
	_, route, _ := strings.Cut(e.RouteKey, " ") // "$default" has none
	if resource := expand(route, e.PathParameters); resource != "" && strings.HasSuffix(e.RawPath, resource) {
		return resource
	}
	return without(without(e.RawPath, basePath), e.RequestContext.Stage)
}

// expand replaces the parameters of a pattern such as /sessions/{id} and /{proxy+}; "" if one is missing.
func expand(pattern string, parameters map[string]string) string {
	var path strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		path.WriteString(before)
		if !found {
			return path.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		value, ok := parameters[strings.TrimSuffix(name, "+")]
		if !closed || !ok {
			return ""
		}
		path.WriteString(value)
		pattern = after
	}
}

// without removes a prefix of one or more segments from a path.
func without(path, segment string) string {
	if segment == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "/"+segment); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	return path
}

// parts are the parts of a request in both forms.
type parts struct {
	method, path, query string
	header              http.Header
	host, address, id   string
	body                string
	base64              bool
}

func (p parts) request(ctx context.Context) (*http.Request, error) {
	body := p.body
	if p.base64 {
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return nil, fmt.Errorf("the body of the event is not in base64: %w", err)
		}
		body = string(raw)
	}
	r, err := http.NewRequestWithContext(ctx, p.method, "/", strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the event is not a request: %w", err)
	}
	r.URL = p.url()
	r.RequestURI = r.URL.RequestURI()
	r.Header = p.header
	r.Host = p.host
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	r.Header.Del("Host") // as net/http's server does
	if p.id != "" && r.Header.Get(requestIDHeader) == "" {
		r.Header.Set(requestIDHeader, p.id)
	}
	if p.address != "" {
		r.RemoteAddr = net.JoinHostPort(p.address, "0")
	}
	return r, nil
}

// url returns the URL of the request. API Gateway forwards some paths encoded and some decoded; a path that cannot be
// decoded is used unchanged.
func (p parts) url() *url.URL {
	path := p.path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := &url.URL{Path: path, RawQuery: p.query}
	if plain, err := url.PathUnescape(path); err == nil && plain != path {
		u.Path, u.RawPath = plain, path
	}
	return u
}
