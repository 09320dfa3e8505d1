package signin

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/mustertest"
)

// rootEnviron is the environment of clients with the root key.
func (w *world) rootEnviron() []string {
	return append(clients.Environ(w.HTTP, w.Region, w.AccessKey, w.SecretKey), "AWS_ENDPOINT_URL_IAM="+w.HTTP,
		"AWS_ENDPOINT_URL_STS="+w.HTTP)
}

// hourPattern matches the last use of a key, which has the resolution of an hour.
var hourPattern = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\dh`)

// TestAccessKeys: access keys by IAM's API, with boto3.
func TestAccessKeys(t *testing.T) {
	t.Parallel()
	w := start(t)
	boto := clients.Boto3(t, w.rootEnviron())
	iam := func(operation string, in, out any) {
		t.Helper()
		if err := boto.Call("iam."+operation, in, out); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
	}
	name := object{"UserName": "build"}
	iam("CreateUser", name, nil)
	document, err := json.Marshal(allow("*", "gamelift:List*"))
	if err != nil {
		t.Fatal(err)
	}
	iam("PutUserPolicy", object{"UserName": "build", "PolicyName": "list", "PolicyDocument": string(document)}, nil)
	var used, unused struct {
		AccessKey struct{ AccessKeyId, SecretAccessKey, Status string }
	}
	iam("CreateAccessKey", name, &used)
	iam("CreateAccessKey", name, &unused)
	if used.AccessKey.Status != "Active" || used.AccessKey.SecretAccessKey == "" {
		t.Errorf("created %+v", used)
	}
	err = boto.Call("iam.CreateAccessKey", name, nil)
	if e, ok := err.(*clients.APIError); !ok || e.Code != "LimitExceeded" || e.Status != 409 {
		t.Errorf("a third key: %v", err)
	}
	keys := keyOf(object{"id": used.AccessKey.AccessKeyId, "secret": used.AccessKey.SecretAccessKey})
	mustertest.Call(t, w.gamelift(keys).ListFleets, &gamelift.ListFleetsInput{})
	lastUsed := func(id string) string {
		var out struct{ AccessKeyLastUsed struct{ LastUsedDate string } }
		iam("GetAccessKeyLastUsed", object{"AccessKeyId": id}, &out)
		return out.AccessKeyLastUsed.LastUsedDate
	}
	if lastUsed(keys.AccessKeyID) == "" || lastUsed(unused.AccessKey.AccessKeyId) != "" {
		t.Errorf("last used %q and %q", lastUsed(keys.AccessKeyID), lastUsed(unused.AccessKey.AccessKeyId))
	}

	iam("UpdateAccessKey", object{"UserName": "build", "AccessKeyId": keys.AccessKeyID, "Status": "Inactive"}, nil)
	_, err = w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	refused(t, "an inactive key", err, "UnrecognizedClientException")
	var list struct {
		AccessKeyMetadata []struct{ AccessKeyId, Status, SecretAccessKey string }
	}
	iam("ListAccessKeys", name, &list)
	if len(list.AccessKeyMetadata) != 2 {
		t.Errorf("%d keys are listed", len(list.AccessKeyMetadata))
	}
	for _, k := range list.AccessKeyMetadata {
		if (k.Status == "Inactive") != (k.AccessKeyId == keys.AccessKeyID) || k.SecretAccessKey != "" {
			t.Errorf("listed %+v", k)
		}
	}
	table := w.operate("key", "ls", "--user", "build")
	for line := range strings.Lines(table) {
		used := hourPattern.MatchString(line)
		if strings.HasPrefix(line, keys.AccessKeyID) && (!used || !strings.Contains(line, "Inactive")) ||
			strings.HasPrefix(line, unused.AccessKey.AccessKeyId) && used {
			t.Errorf("muster key ls: %s", table)
		}
	}
}

// operate runs a command of muster with the root key.
func (w *world) operate(args ...string) string {
	w.Helper()
	h := &home{w, w.TempDir()}
	c := h.command(args...)
	c.Env = append(c.Env, w.rootEnviron()...)
	out, err := c.Output()
	if err != nil {
		w.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// TestRootKey (acceptance 3): a lost root key is replaced on the machine of the service, and the audit trail shows it.
func TestRootKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	list := &gamelift.ListFleetsInput{}
	h := &home{w, t.TempDir()}
	out := child.Variables(h.muster("root-key", "recover", "--data", w.data, "--endpoint", w.HTTP))
	_, err := w.Client.ListFleets(t.Context(), list)
	refused(t, "the lost key", err, "UnrecognizedClientException")
	w.Root = keyOf(object{"id": out["AWS_ACCESS_KEY_ID"], "secret": out["AWS_SECRET_ACCESS_KEY"]})
	mustertest.Call(t, w.gamelift(w.Root).ListFleets, list)
	if r := w.audited("RootKeyRecover"); r["sourceIPAddress"] != "127.0.0.1" {
		t.Errorf("the record is %v", r)
	}
	w.Root = keyOf(w.Manage("POST", "root-key/rotate", nil))
	mustertest.Call(t, w.gamelift(w.Root).ListFleets, list)
}

// TestDev: `muster dev` asks for no sign-in. The root key in its muster.env and aws-profile works as before
// there were users; TestOldDataDirectory of package e2e has a directory of that time.
func TestDev(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := child.New(t, "muster dev", musterBinary(t))
	p.Launch("dev", "--data", data, "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--no-sample",
		"--no-machine")
	environ := filepath.Join(data, "muster.env")
	p.Await(t.Context(), func() bool { return exists(environ) })
	var set []string
	for name, value := range child.Variables(readFile(t, environ)) {
		set = append(set, name+"="+value)
	}
	for name, environ := range map[string][]string{
		"muster.env":  set,
		"aws-profile": {"AWS_CONFIG_FILE=" + filepath.Join(data, "aws-profile"), "AWS_PROFILE=muster"},
	} {
		if err := clients.AWSCLI(t, environ).Call("ListFleets", nil, nil); err != nil {
			t.Errorf("with %s: %v", name, err)
		}
		boto := clients.Boto3(t, environ)
		for _, operation := range []string{"sts.GetCallerIdentity", "iam.ListUsers"} {
			if err := boto.Call(operation, nil, nil); err != nil {
				t.Errorf("%s with %s: %v", operation, name, err)
			}
		}
	}
	p.Stop()
	p.AwaitEnd()
}
