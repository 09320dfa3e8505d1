package config

import (
	"context"
	"crypto/tls"
	"net/http"
)

// A TestKit is what package testkit adds to a service for tests.
type TestKit interface {
	// Call is called before an operation of the API, or a request of the session gateway by its method and path, is
	// carried out. An error is its answer. With lose it is carried out, and the connection closed without an answer.
	Call(ctx context.Context, operation string) (lose bool, err error)

	// Allow reports whether the rates of calls allow one of an operation.
	Allow(operation string) bool

	// EmulatesQuotas reports whether the limits of resources are GameLift's.
	EmulatesQuotas() bool

	// Attach is called when the service is ready. Handler serves the requests of tests.
	Attach(s TestedService)
	Handler() http.Handler

	// Close is called when the service begins to stop.
	Close()
}

// A TestedService is what a TestKit sees of its service.
type TestedService struct {
	Endpoints Endpoints
	TLS       *tls.Config // for clients of the WSS endpoint

	// Invoke makes a call of the API with the body of a request in JSON, which is not authenticated.
	Invoke func(ctx context.Context, operation string, body []byte) (answer []byte, err error)

	// Settle returns when everything has happened that is due by the clock.
	Settle func(ctx context.Context) error

	// ReportHealth reports all connected game servers as healthy.
	ReportHealth func(ctx context.Context) error
}
