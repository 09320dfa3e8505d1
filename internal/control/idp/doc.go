// Package idp is the client of external identity providers: it verifies their tokens, and signs people in with OpenID
// Connect (authorization code with PKCE).
//
// The claims of a token are returned only after every check: signature, issuer, audience and times. The keys come from
// the issuer, by its discovery document, or from the provider's record for machines without internet access. All
// requests go to https URLs, to http only if the issuer itself is on loopback; they end after 5 s, read at most 256 kB
// and follow no redirect to another host.
//
// Sources: OpenID Connect Core 1.0, section 3.1.3.7; OpenID Connect Discovery 1.0; RFC 7519; RFC 8725.
package idp
