// Package guard protects an HTTP handler on the public internet: it authenticates callers, limits rates and sizes, logs
// and counts requests, and answers probes. It is independent of the handler.
//
// A request passes, in this order:
//
//	request id and address    X-Request-Id; X-Forwarded-For of trusted proxies
//	security headers
//	access log, metrics
//	panics                    become an answer with status 500
//	/healthz /readyz          answered here, without what follows, and /metrics to this machine
//	CORS                      web pages of foreign origins are rejected
//	rate by address
//	authentication            bearer tokens or API keys, off without either
//	rate by player
//	size of the body
//
// The answer to a rejected request is a JSON object with error, code and requestId; Config.Refuse replaces it.
package guard
