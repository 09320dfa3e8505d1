// Package guard is what an HTTP handler on the open internet needs in front of it:
// it says who calls, bounds how often and how much, keeps a log and counts, and
// answers probes. It knows nothing of what the handler does.
//
// A request passes, in this order:
//
//	request id and address    X-Request-Id; X-Forwarded-For of trusted proxies
//	security headers
//	access log, metrics
//	panics                    become an answer with status 500
//	/healthz /readyz          answered here, without what follows, and /metrics to this machine
//	CORS                      web pages of foreign origins are refused
//	rate by address
//	authentication            bearer tokens or API keys, off without either
//	rate by player
//	size of the body
//
// Whoever is refused gets a JSON object with error, code and requestId; Config.Refuse
// may give it another form.
package guard
