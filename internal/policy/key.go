package policy

import (
	"slices"
	"strings"
)

// The condition keys that requests have, in their canonical spelling. Those that end with "/" are followed by the key
// of a tag. GameLift has no keys of its own.
// Source: IAM User Guide, "AWS global condition context keys".
var identityKeys = keysOf("aws:CurrentTime", "aws:EpochTime", "aws:MultiFactorAuthPresent", "aws:PrincipalArn",
	"aws:PrincipalTag/", "aws:PrincipalType", "aws:RequestTag/", "aws:RequestedRegion", "aws:ResourceTag/",
	"aws:SecureTransport", "aws:SourceIp", "aws:TagKeys", "aws:TokenIssueTime", "aws:UserAgent", "aws:userid",
	"aws:username")

// trustKeys are the keys that only calls of AssumeRole and AssumeRoleWithWebIdentity have.
// Source: IAM User Guide, "IAM and AWS STS condition context keys".
var trustKeys = keysOf("sts:ExternalId", "sts:RoleSessionName", "sts:SourceIdentity")

// tokenClaims are the claims of a web identity token that are keys, as <issuer>:<claim>.
var tokenClaims = []string{"aud", "sub"}

// maxTagKey is the longest key of a tag. Source: API reference, Tag.Key.
const maxTagKey = 128

func keysOf(names ...string) map[string]string {
	keys := make(map[string]string, len(names))
	for _, name := range names {
		keys[lower(name)] = name
	}
	return keys
}

// canonicalKey returns the canonical spelling of a key. Names of keys are case-insensitive; the key of a tag keeps its
// case, and comparing it is left to who knows the tags.
func canonicalKey(keys map[string]string, name string) (string, bool) {
	prefix, tag, tagged := strings.Cut(name, "/")
	if !tagged {
		key, ok := keys[lower(name)]
		return key, ok
	}
	key, ok := keys[lower(prefix)+"/"]
	return key + tag, ok && tag != "" && len(tag) <= maxTagKey
}

// key returns the canonical spelling of a key that statements of this document may use.
func (p *parser) key(name string) (string, bool) {
	if key, ok := canonicalKey(identityKeys, name); ok || !p.trust {
		return key, ok
	}
	if key, ok := canonicalKey(trustKeys, name); ok {
		return key, ok
	}
	colon := strings.LastIndexByte(name, ':')
	if colon < 0 || !slices.Contains(tokenClaims, lower(name[colon+1:])) {
		return "", false
	}
	for _, issuer := range p.issuers {
		if lower(issuer) == lower(name[:colon]) {
			return issuer + ":" + lower(name[colon+1:]), true
		}
	}
	return "", false
}
