// Package lambda runs an HTTP handler as an AWS Lambda function behind API
// Gateway: events of REST APIs (payload format 1.0) and of HTTP APIs and function
// URLs (2.0) become requests, and answers become what API Gateway expects.
//
// A function answers once and whole. A handler that begins a stream of events is
// stopped, and its client gets status 501.
package lambda
