// Package signin holds the end-to-end tests of signing in: people with browsers, roles, keys, policies and the audit
// trail, with the clients that people really use. The tests follow the acceptance list of the sign-in reference; the
// comment of each names its items.
package signin
