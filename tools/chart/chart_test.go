// Package chart tests the Helm chart in deploy/chart: it lints and renders the chart, holds the objects to the types of
// Kubernetes, and has muster check their variables.
package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

const directory = "../../deploy/chart"

// everything switches every part of the chart on.
const everything = `
imagePullSecrets: [pull]
settings: {region: eu-west-1, log-format: json, plaintext: refuse, gateway-reuse: on, max-calls: 100000,
  trusted-proxies: [10.0.0.0/8, 192.168.0.0/16]}
tls: {secret: certificate}
gateway: {keysSecret: keys}
persistence: {storageClass: fast}
service: {type: LoadBalancer, annotations: {a: b}}
ingress: {enabled: true, className: nginx, annotations: {a: b}, host: a.example, gatewayHost: g.example, tlsSecret: s}
monitoring: {podMonitor: true, alerts: true, dashboards: true, labels: {release: prometheus}}
extraEnv: [{name: MUSTER_WEBHOOK_SECRET_FILE, value: /etc/muster/webhook/secret}]
extraVolumes: [{name: webhook, secret: {secretName: webhook}}]
extraVolumeMounts: [{name: webhook, mountPath: /etc/muster/webhook, readOnly: true}]
podAnnotations: {a: b}
nodeSelector: {a: b}
tolerations: [{key: games, operator: Exists}]
affinity: {nodeAffinity: {}}
`

func TestChart(t *testing.T) {
	cluster, err := os.ReadFile(directory + "/values-cluster.yaml")
	check(t, err)
	all := []string{"ConfigMap muster", "Service muster", "Service muster-nodes", "StatefulSet muster"}
	for name, test := range map[string]struct {
		values string
		more   []string // objects besides those that are always there
	}{
		"One":     {"", nil},
		"Cluster": {string(cluster), []string{"NetworkPolicy muster", "PodDisruptionBudget muster"}},
		"Everything": {string(cluster) + everything, []string{"ConfigMap muster-dashboards", "Ingress muster",
			"NetworkPolicy muster", "PodDisruptionBudget muster", "PodMonitor muster", "PrometheusRule muster"}},
	} {
		t.Run(name, func(t *testing.T) {
			var values map[string]any
			check(t, yaml.Unmarshal([]byte(test.values), &values))
			for _, m := range lint.RunAll(directory, values, "games").Messages {
				if m.Severity >= support.WarningSev {
					t.Error(m)
				}
			}
			objects, err := render(values)
			check(t, err)
			want := slices.Sorted(slices.Values(slices.Concat(all, test.more)))
			if got := slices.Sorted(maps.Keys(objects)); !slices.Equal(got, want) {
				t.Errorf("objects are %q, want %q", got, want)
			}
			for name, object := range objects {
				decode(t, name, object)
			}
			checkPod(t, objects)
		})
	}
}

// TestValuesRefused holds the schema to what would fail or mislead later.
func TestValuesRefused(t *testing.T) {
	for _, text := range []string{
		"nodes: 2", "nodes: 3", "replicas: 3", "publicURL: https://a.example", "settings: {listen: ':80'}",
		"settings: {LogLevel: debug}", "extraVolumes: [data]", "ingress: {enabled: true}", "image: {tag: 1.2}",
	} {
		var values map[string]any
		check(t, yaml.Unmarshal([]byte(text), &values))
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// render returns the objects of the chart as YAML, by kind and name.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(directory)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "muster", Namespace: "games", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]string{}
	for path, content := range files {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for _, text := range strings.Split(content, "\n---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				return nil, err
			}
			if o.Kind != "" {
				objects[o.Kind+" "+o.Metadata.Name] = text
			}
		}
	}
	return objects, nil
}

// decode holds an object to the fields of its kind.
func decode(t *testing.T, name, text string) {
	kind, _, _ := strings.Cut(name, " ")
	switch kind {
	case "ConfigMap":
		c := strict[core.ConfigMap](t, text)
		for key, value := range c.Data {
			if strings.HasSuffix(key, ".json") && !json.Valid([]byte(value)) {
				t.Errorf("%s: %s is no JSON", name, key)
			}
		}
		if name == "ConfigMap muster-dashboards" && len(c.Data) != 5 {
			t.Errorf("%s has %d dashboards", name, len(c.Data))
		}
	case "Service":
		strict[core.Service](t, text)
	case "StatefulSet":
		strict[apps.StatefulSet](t, text)
	case "PodDisruptionBudget":
		strict[policy.PodDisruptionBudget](t, text)
	case "NetworkPolicy":
		n := strict[networking.NetworkPolicy](t, text)
		for _, rule := range n.Spec.Ingress {
			for _, port := range rule.Ports {
				if onlyNodes := len(rule.From) > 0; onlyNodes != (port.Port.StrVal == "nodes") {
					t.Errorf("port %s: only from nodes: %t", port.Port.StrVal, onlyNodes)
				}
			}
		}
	case "Ingress":
		if i := strict[networking.Ingress](t, text); len(i.Spec.Rules) != 2 || len(i.Spec.TLS[0].Hosts) != 2 {
			t.Errorf("%+v", i.Spec)
		}
	case "PodMonitor": // of the Prometheus Operator, whose types are a dependency for one object
	case "PrometheusRule":
		alerts, err := os.ReadFile("../../docs/grafana/alerts.yml")
		check(t, err)
		var rule struct{ Spec any }
		var want any
		check(t, yaml.Unmarshal([]byte(text), &rule))
		check(t, yaml.Unmarshal(alerts, &want))
		got, err := yaml.Marshal(rule.Spec)
		check(t, err)
		if w, err := yaml.Marshal(want); err != nil || !bytes.Equal(got, w) {
			t.Errorf("%s has other rules than docs/grafana/alerts.yml:\n%s", name, got)
		}
	default:
		t.Errorf("%s: unknown kind", name)
	}
}

// strict decodes an object. A field that its type does not have, or that is there twice, is an error.
func strict[T any](t *testing.T, text string) (o T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return o
}

// checkPod checks names that objects have in common, and runs "muster config" with the environment of a pod.
func checkPod(t *testing.T, objects map[string]string) {
	set := strict[apps.StatefulSet](t, objects["StatefulSet muster"])
	config := strict[core.ConfigMap](t, objects["ConfigMap muster"])
	pod := set.Spec.Template.Spec
	volumes := []string{set.Spec.VolumeClaimTemplates[0].Name}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, m := range c.VolumeMounts {
			if !slices.Contains(volumes, m.Name) {
				t.Errorf("%s mounts %s, which is none of %q", c.Name, m.Name, volumes)
			}
		}
		if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
			t.Errorf("%s has the security context %+v", c.Name, s)
		}
	}
	var ports []string
	for _, p := range pod.Containers[0].Ports {
		ports = append(ports, p.Name)
	}
	for _, p := range strict[core.Service](t, objects["Service muster"]).Spec.Ports {
		if !slices.Contains(ports, p.TargetPort.StrVal) {
			t.Errorf("the Service sends to port %s, which is none of %q", p.TargetPort.StrVal, ports)
		}
	}
	environment := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range config.Data {
		if !isMounted(t, pod.Containers[0], name, value) {
			environment = append(environment, name+"="+value)
		}
	}
	for _, e := range pod.Containers[0].Env {
		if isMounted(t, pod.Containers[0], e.Name, e.Value) {
			continue
		}
		value := strings.ReplaceAll(e.Value, "$(MUSTER_NODE)", "muster-1")
		if e.ValueFrom != nil { // MUSTER_NODE
			value = "muster-1"
		}
		environment = append(environment, e.Name+"="+value)
		address, isAddress := strings.CutSuffix(value, ":9222")
		if isAddress && !slices.Contains(strings.Split(config.Data["MUSTER_PEER"], ","), value) {
			t.Errorf("%s is %s, which is none of the peers %s", e.Name, value, config.Data["MUSTER_PEER"])
		}
		if isAddress && len(validation.IsDNS1123Subdomain(address)) > 0 {
			t.Errorf("%s is no DNS name", address)
		}
	}
	command := exec.Command("go", "run", "./cmd/muster", "config")
	command.Dir, command.Env = "../..", environment
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("muster config, with %q: %v\n%s", environment, err, out)
	}
}

// isMounted reports whether a variable names a file of a Secret, which is not here, and checks that it is mounted.
func isMounted(t *testing.T, c core.Container, name, value string) bool {
	if !strings.HasPrefix(value, "/etc/muster/") {
		return false
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == path.Dir(value) }) {
		t.Errorf("%s is %s, which no volume has", name, value)
	}
	return true
}
