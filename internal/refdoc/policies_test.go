package refdoc

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/muster-gg/muster/internal/operator"
	"github.com/muster-gg/muster/internal/policy"
)

//go:embed policies.md.tmpl
var policiesText string

var policies = template.Must(template.New("page").Funcs(template.FuncMap{
	"codes": codes, "tagKey": tagKey, "wrap": wrap, "describe": policy.Describe,
}).Parse(policiesText))

// An actionRow describes an action.
type actionRow struct {
	Name     string
	Resource string // what a policy names as Resource
	Reads    bool   // it changes nothing and returns no credentials
	Uses     string // the requests or calls that ask for it
}

// kindNotes says which resource a member of an input stands for, where that is not the kind of its ARN.
var kindNotes = map[string]string{
	"arn":           "the resource of `%s`",
	"gamesession":   "the `fleet/` of the game session `%s`",
	"playersession": "the `fleet/` of the player session `%s`",
	"placement":     "the `gamesessionqueue/` of the placement `%s`",
	"ticket":        "the `matchmakingconfiguration/` of the ticket `%s`",
}

func gameliftRow(a policy.Action) actionRow {
	var resources []string
	for _, m := range policy.Members(a) {
		note, ok := kindNotes[m.Kind]
		if !ok {
			note = "`" + m.Kind + "/` of `%s`"
		}
		resources = append(resources, fmt.Sprintf(note, m.Name))
	}
	if len(resources) == 0 {
		resources = []string{"`*`"}
	}
	return actionRow{a.String(), strings.Join(resources, ", "), a.ReadOnly(), ""}
}

func musterRow(a policy.Action) actionRow {
	var resources, uses []string
	for _, r := range operator.Requests() {
		if r.Action != a.String() {
			continue
		}
		resource := resourceOf(&r)
		if !slices.Contains(resources, resource) {
			resources = append(resources, resource)
		}
		uses = append(uses, "`"+r.Pattern+"`")
	}
	if a.String() == "muster:ConsoleUse" {
		uses = append([]string{"the console"}, uses...)
	}
	return actionRow{a.String(), strings.Join(resources, ", "), a.ReadOnly(), strings.Join(uses, ", ")}
}

// otherResources are those of the actions of CloudWatch, STS, IAM and S3, which have one for all calls but these.
var otherResources = map[string]string{
	"sts:AssumeRole": "`role/{name}`", "sts:TagSession": "`role/{name}`", "sts:SetSourceIdentity": "`role/{name}`",
	"sts:GetSessionToken": "`*`", "sts:GetAccessKeyInfo": "`*`", "sts:GetCallerIdentity": "never asked",
	"sts:AssumeRoleWithWebIdentity": "never asked: the trust policy of the role decides",
	"iam:ListUsers":                 "`user/*`",
	"iam:PassRole":                  "`role/{name}`",
	"s3:ListAllMyBuckets":           "`*`", "s3:AbortMultipartUpload": s3Object, "s3:DeleteObject": s3Object,
	"s3:GetObject": s3Object, "s3:ListMultipartUploadParts": s3Object, "s3:PutObject": s3Object,
}

// s3Object is the ARN of an object.
const s3Object = "`arn:aws:s3:::{bucket}/{key}`"

func otherRow(a policy.Action) actionRow {
	resource, ok := otherResources[a.String()]
	switch {
	case strings.HasPrefix(a.String(), "cloudwatch:"):
		resource = "`*`"
	case !ok && strings.HasPrefix(a.String(), "s3:"):
		resource = "`arn:aws:s3:::{bucket}`"
	case !ok:
		resource = "`user/{name}`"
	}
	return actionRow{a.String(), resource, a.ReadOnly(), ""}
}

func policiesPage() ([]byte, error) {
	rows := map[string][]actionRow{}
	for i := range policy.Actions() {
		a := policy.Action(i)
		service, _, _ := strings.Cut(a.String(), ":")
		row := otherRow
		switch service {
		case "gamelift":
			row = gameliftRow
		case "muster":
			row = musterRow
		}
		if service == "sts" || service == "iam" || service == "cloudwatch" || service == "s3" {
			service = "other"
		}
		rows[service] = append(rows[service], row(a))
	}
	var text bytes.Buffer
	err := policies.Execute(&text, map[string]any{
		"GameLift": rows["gamelift"], "Muster": rows["muster"], "Other": rows["other"], "Roles": policy.BuiltinRoles(),
		"Builtins": policy.Builtins(), "Keys": policy.ConditionKeys(), "TrustKeys": policy.TrustKeys(),
		"Operators": policy.Operators(), "KeyNotes": keyNotes,
	})
	return text.Bytes(), err
}

func codes(list []string) string {
	all := make([]string, len(list))
	for i, text := range list {
		all[i] = code(text)
	}
	return strings.Join(all, ", ")
}

// wrap breaks a text into lines of at most 120 characters.
func wrap(text string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > 120:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// tagKey completes a condition key that is followed by the key of a tag.
func tagKey(key string) string {
	if strings.HasSuffix(key, "/") {
		return "KEY"
	}
	return ""
}

// keyNotes says what each condition key is.
var keyNotes = map[string]string{
	"aws:CurrentTime":            "the time of the call, for the Date operators",
	"aws:EpochTime":              "the same in Unix seconds",
	"aws:MultiFactorAuthPresent": "`false` with temporary keys, absent with others: there is no second factor",
	"aws:PrincipalArn":           "the ARN of the caller: of a user, or of the role behind a session",
	"aws:PrincipalTag/":          "a tag of the session, from AssumeRole",
	"aws:PrincipalType":          "`User`, `AssumedRole` or `Account`, the root key",
	"aws:RequestTag/":            "a tag that the call gives to a resource",
	"aws:RequestedRegion":        "the Region that the call is signed for",
	"aws:ResourceTag/":           "a tag of the resource; absent if the resource does not exist",
	"aws:SecureTransport":        "`true` over TLS",
	"aws:SourceIp":               "the address of the client, for IpAddress and NotIpAddress",
	"aws:TagKeys":                "the keys of the tags that the call gives, with ForAllValues and ForAnyValue",
	"aws:TokenIssueTime":         "when the temporary key was issued; absent with others",
	"aws:UserAgent":              "as the client says: no protection",
	"aws:userid":                 "`AIDA…` of a user, `AROA…:SESSION` of a role session",
	"aws:username":               "the name of a user; absent in a role session",
	"sts:ExternalId":             "the `ExternalId` of AssumeRole",
	"sts:RoleSessionName":        "the `RoleSessionName` of AssumeRole",
	"sts:SourceIdentity":         "the `SourceIdentity` of AssumeRole",
}

func TestPolicyNotesAreComplete(t *testing.T) {
	check := func(kind string, names []string, notes map[string]string) {
		for _, name := range names {
			if notes[name] == "" {
				t.Errorf("%s %s has no note", kind, name)
			}
		}
		if len(names) != len(notes) {
			t.Errorf("there are %d notes for %d of kind %s", len(notes), len(names), kind)
		}
	}
	check("condition key", append(policy.ConditionKeys(), policy.TrustKeys()...), keyNotes)
	for name := range otherResources {
		if _, ok := policy.ActionOf(name); !ok {
			t.Errorf("there is no action %s", name)
		}
	}
}
