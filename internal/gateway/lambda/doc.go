// Package lambda runs an HTTP handler as an AWS Lambda function behind API Gateway: it converts events of REST APIs
// (payload format 1.0) and of HTTP APIs and function URLs (2.0) to requests, and answers to API Gateway's form.
//
// A function cannot stream. A handler that begins an event stream is cancelled, and the answer has status 501.
package lambda
