// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const document = "../../docs/migration-v0.md"

// block is a fenced block of a page. at is its PAGE:LINE.
type block struct {
	info, text, at string
}

func readBlocks(t *testing.T, page string) []block {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	var all []block
	for _, at := range regexp.MustCompile("(?ms)^```(\\S[^\n]*)\n(.*?)^```$").FindAllSubmatchIndex(text, -1) {
		all = append(all, block{string(text[at[2]:at[3]]), string(text[at[4]:at[5]]),
			fmt.Sprintf("%s:%d", page, 1+bytes.Count(text[:at[0]], []byte("\n")))})
	}
	return all
}

// lab is a cluster with v0's custom resources and the new server, not yet registered.
type lab struct {
	*testing.T
	kube   *kuberig.Kube
	server *kuberig.Server
	dir    string
	env    []string
}

func startLab(t *testing.T) *lab {
	t.Helper()
	kubectl := rig.Need(rig.KubeProgram("kubectl"))(t)
	l := &lab{T: t, dir: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kubizone, err := rig.Kubizone(ctx, l.dir, "")
	must(err)
	must(os.Mkdir(filepath.Join(l.dir, "bin"), 0o700))
	client, err := rig.Client(ctx, l.dir)
	must(err)
	must(os.Symlink(client, filepath.Join(l.dir, "bin", "kubectl-kubizone")))
	must(os.Symlink(kubectl, filepath.Join(l.dir, "bin", "kubectl")))
	l.kube, err = kuberig.StartKube(ctx, filepath.Join(l.dir, "kube"), kuberig.KubeConfig{})
	rig.SkipMissing(t, err)
	t.Cleanup(func() { l.kube.Close() })
	kubeconfig, err := l.kube.Delegate(ctx)
	must(err)
	l.server, err = kuberig.StartServer(ctx, filepath.Join(l.dir, "server"), kuberig.ServerConfig{Program: kubizone, Kube: l.kube, Kubeconfig: kubeconfig})
	must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server says:\n%s\nkube-apiserver says:\n%s", l.server.Log(), l.kube.Log())
		}
		l.server.Close()
	})
	must(os.Mkdir(filepath.Join(l.dir, "home"), 0o700))
	l.env = []string{
		"PATH=" + filepath.Join(l.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(l.dir, "home"),
		"KUBECONFIG=" + l.kube.AdminKubeconfig(), "SERVER=" + l.server.URL(),
	}
	l.installServices(ctx)
	return l
}

// Step 1 of the document expects these objects.
func (l *lab) installServices(ctx context.Context) {
	l.Helper()
	clients := must.Get(l.kube.Clients())(l)
	must.Get(clients.CoreV1().Services(kuberig.InstallNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: kuberig.ServerName},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(l.server.Addr.Port())}}},
	}, metav1.CreateOptions{}))(l)
	must.Get(clients.CoreV1().Secrets(kuberig.InstallNamespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: kuberig.ServerName + "-serving"}, Data: map[string][]byte{"ca.crt": l.kube.ClusterCA.PEM},
	}, metav1.CreateOptions{}))(l)
	for _, namespace := range []string{"dns", "shop", "blue", "green"} {
		must.Succeed(l, l.kube.Namespace(ctx, namespace))
	}
}

func (l *lab) runShell(script string) (out string, exit int) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 12*time.Minute)
	defer cancel()
	state := filepath.Join(l.dir, "exports")
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c",
		fmt.Sprintf("if [ -e %[1]s ]; then . %[1]s; fi\n%[2]s\nexport -p >%[1]s\n", state, script))
	command.Dir, command.Env = filepath.Join(l.dir, "home"), l.env
	text, err := command.CombinedOutput()
	l.Logf("$ %s\n%s", strings.TrimSpace(script), text)
	if err != nil && command.ProcessState == nil {
		l.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

func (l *lab) mustRun(script string) string {
	l.Helper()
	out, exit := l.runShell(script)
	if exit != 0 {
		l.Fatalf("exit code %d of\n%s\n%s", exit, script, out)
	}
	return out
}

func (l *lab) applyText(text string) {
	l.Helper()
	path := filepath.Join(l.dir, "apply.yaml")
	must.Succeed(l, os.WriteFile(path, []byte(text), 0o600))
	l.mustRun("kubectl apply -f " + path)
}

func (l *lab) applyFile(path string) {
	l.Helper()
	text := must.Get(os.ReadFile(path))(l)
	l.applyText(string(text))
}

func (l *lab) waitDefinitions() {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 2*time.Minute)
	defer cancel()
	must.Succeed(l, l.kube.WaitDefinitions(ctx))
}

func (l *lab) writeStatuses(change func(zone string, status map[string]any)) {
	l.Helper()
	text := must.Get(os.ReadFile("testdata/statuses.yaml"))(l)
	var all map[string]map[string]any
	must.Succeed(l, yaml.Unmarshal(text, &all))
	for zone, status := range all {
		change(zone, status)
		patch := must.Get(json.Marshal(map[string]any{"status": status}))(l)
		namespace, name, _ := strings.Cut(zone, "/")
		l.mustRun(fmt.Sprintf("kubectl patch zones.kubi.zone -n %s %s --subresource=status --type=merge -p '%s'", namespace, name, patch))
	}
}

func (l *lab) getObject(flags, kind, namespace, name string) map[string]any {
	l.Helper()
	var object map[string]any
	out := l.mustRun(fmt.Sprintf("kubectl %s get %s -n %s %s -o json", flags, kind, namespace, name))
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		l.Fatalf("%v in\n%s", err, out)
	}
	return object
}

func readNumber(object map[string]any, fields ...string) int64 {
	var value any = object
	for _, field := range fields {
		inner, _ := value.(map[string]any)
		value = inner[field]
	}
	n, _ := value.(float64)
	return int64(n)
}

func findMissing(path string, object, want any) []string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := object.(map[string]any)
		var missing []string
		for key, value := range want {
			missing = append(missing, findMissing(path+"."+key, object[key], value)...)
		}
		return missing
	case []any:
		object, _ := object.([]any)
		if len(object) != len(want) {
			return []string{fmt.Sprintf("%s has %d items, not %d", path, len(object), len(want))}
		}
		var missing []string
		for i, value := range want {
			missing = append(missing, findMissing(fmt.Sprintf("%s[%d]", path, i), object[i], value)...)
		}
		return missing
	}
	if fmt.Sprint(object) != fmt.Sprint(want) {
		return []string{fmt.Sprintf("%s is %v, not %v", path, object, want)}
	}
	return nil
}

func (l *lab) hasObjects(flags string, shown block) {
	l.Helper()
	for _, text := range strings.Split(shown.text, "\n---\n") {
		var want map[string]any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			l.Fatalf("%s: %v", shown.at, err)
		}
		metadata := want["metadata"].(map[string]any)
		have := l.getObject(flags, strings.ToLower(want["kind"].(string))+"s.kubi.zone", metadata["namespace"].(string),
			metadata["name"].(string))
		for _, difference := range findMissing(want["kind"].(string)+" "+metadata["name"].(string), have, want) {
			l.Errorf("%s: %s", shown.at, difference)
		}
	}
}

// kube-apiserver fetches the schema from time to time.
func (l *lab) waitForSchema() {
	l.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		out, exit := l.runShell("kubectl explain zone.spec.nameServers --api-version=kubi.zone/v1alpha1")
		if exit == 0 && strings.Contains(out, "addresses") {
			return
		}
		if time.Now().After(deadline) {
			l.Errorf("kubectl explain shows another schema: %s", out)
			return
		}
		time.Sleep(time.Second)
	}
}

func TestMigration_goesAsTheDocumentSays(t *testing.T) {
	var yamls, shells, reports []block
	for _, b := range readBlocks(t, document) {
		switch kind, _, _ := strings.Cut(b.info, " "); kind {
		case "yaml":
			yamls = append(yamls, b)
		case "sh":
			shells = append(shells, b)
		case "report":
			reports = append(reports, b)
		case "console":
		default:
			t.Fatalf("%s: nobody runs a block of %q", b.at, b.info)
		}
	}
	if len(yamls) != 2 || len(reports) != 1 || len(shells) != 10 {
		t.Fatalf("the document has %d blocks of YAML, %d reports and %d of shell; this test knows 2, 1 and 10", len(yamls), len(reports), len(shells))
	}
	l := startLab(t)
	l.applyFile("testdata/crds.yaml")
	l.waitDefinitions()
	l.applyText(yamls[0].text)
	l.applyFile("testdata/objects.yaml")
	l.writeStatuses(func(string, map[string]any) {})
	step := func(n int) string {
		t.Helper()
		want := 0
		if strings.HasSuffix(shells[n].info, " exit-1") {
			want = 1
		}
		out, exit := l.runShell(shells[n].text)
		if exit != want {
			t.Fatalf("%s: exit code %d, want %d:\n%s", shells[n].at, exit, want, out)
		}
		return out
	}
	contains := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("nothing says %q in\n%s", want, out)
			}
		}
	}

	// 1, 2: install beside, import, compare, mend.
	step(0)
	contains(step(1), strings.Split(strings.TrimSpace(reports[0].text), "\n")...)
	out := step(2)
	contains(out, "zone dns/corp: compared with its custom resource: 8 entries as before, 0 added, 0 missing",
		"zone dns/dev: compared with its custom resource: 1 entries as before, 0 added", " written, ")
	if strings.Contains(out, " refused") || strings.Contains(out, "see above") {
		t.Errorf("the import is not whole:\n%s", out)
	}
	if again := step(3); !strings.Contains(again, "0 written") {
		t.Errorf("the same import again wrote something:\n%s", again)
	}
	record := l.getObject("$DIRECT", "records.kubi.zone", "dns", "ns1")
	metadata := record["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if metadata["finalizers"] != nil || metadata["ownerReferences"] != nil || labels["team"] != "dns" || labels["kubi.zone/parent-zone"] != "corp.dns" {
		t.Errorf("marks of v0: %v", metadata)
	}

	// 3: changes made by v0 before the freeze are imported too.
	l.applyText("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: blue, name: late}\nspec: {domainName: " +
		"late.apps.corp.test., type: A, rdata: 192.0.2.99}\n")
	l.writeStatuses(func(zone string, status map[string]any) {
		if zone == "dns/corp" {
			status["serial"] = 2031010108
			status["entries"] = append(status["entries"].([]any), map[string]any{"fqdn": "late.apps.corp.test.", "type": "A", "class": "IN", "ttl": 360, "rdata": "192.0.2.99"})
		}
	})
	contains(step(3), "zone dns/corp: compared with its custom resource: 9 entries as before, 0 added, 0 missing", "corp.test.")
	contains(step(4), "record.kubi.zone/ns1 patched")
	for zone, old := range map[string]int64{"dns corp": 2031010108, "shop shop": 2024010100} {
		namespace, name, _ := strings.Cut(zone, " ")
		if serial := readNumber(l.getObject("$DIRECT", "zones.kubi.zone", namespace, name), "status", "serial"); serial < old {
			t.Errorf("zone %s has serial %d, behind %d of v0", zone, serial, old)
		}
	}

	// 4: the same names, another server.
	contains(step(5), "ENTRIES", "corp.test.")
	l.hasObjects("", yamls[1])
	contains(l.mustRun("kubectl get zone -n dns corp --subresource=entries"), "www.apps.corp.test.", "192.0.2.72")
	step(6)
	l.waitForSchema()
	l.mustRun("kubectl delete record -n blue late")

	// 5: back with unchanged resources, and forward again with everything kept.
	step(7)
	l.hasObjects("", yamls[0])
	contains(l.mustRun("kubectl get records.kubi.zone -n blue late -o name"), "late")
	if serial := readNumber(l.getObject("", "zones.kubi.zone", "dns", "corp"), "status", "serial"); serial != 2031010108 {
		t.Errorf("the custom resource has serial %d", serial)
	}
	contains(step(8), "condition met")
	l.hasObjects("", yamls[1])

	// 6: for good.
	contains(step(9), "corp.test.", "www.apps.corp.test.")
	l.hasObjects("", yamls[1])
}
