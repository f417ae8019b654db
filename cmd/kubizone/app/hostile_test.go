// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
)

// hostile has terminal controls and a forged second line. Only "owned" and "forged" are printable.
var hostile = func() string {
	text := "owned\x1b]0;t\x07\x1b[31m\b\x7f\r\nforged: \u061c\u200e\u200f\u2028\u2029\ufeff\U000e0041"
	for r := '\u0080'; r <= '\u009f'; r++ {
		text += string(r)
	}
	for _, bounds := range [][2]rune{{0x202a, 0x202e}, {0x2066, 0x2069}} {
		for r := bounds[0]; r <= bounds[1]; r++ {
			text += string(r)
		}
	}
	return text
}()

var oneLine = strings.NewReplacer("\r", "", "\n", "").Replace(hostile)

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }

func expectTame(t *testing.T, text string) {
	t.Helper()
	if at := strings.IndexFunc(text, isUnprintable); at >= 0 {
		t.Errorf("octet %d is printed as it is: %q", at, text[max(0, at-60):min(len(text), at+10)])
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t+-~#>|\"'"), "forged") {
			t.Errorf("a line of a tenant: %q in %q", line, text)
		}
	}
}

// notTexts are types with their own encoding.
var notTexts = []reflect.Type{reflect.TypeFor[*metav1.Time](), reflect.TypeFor[*metav1.MicroTime](), reflect.TypeFor[*metav1.FieldsV1](),
	reflect.TypeFor[*runtime.RawExtension](), reflect.TypeFor[runtime.RawExtension]()}

// fillTexts writes hostile into every empty string, and one element into every empty list and map.
func fillTexts(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() || slices.Contains(notTexts, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			v.SetString(hostile)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fillTexts(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fillTexts(v.Field(i), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() == 0 {
				v.SetBytes([]byte(hostile))
			}
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fillTexts(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.Len() == 0 && v.Type().Key().Kind() == reflect.String {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillTexts(key, depth+1)
			fillTexts(value, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	}
}

func makeConditions(types ...string) (all []metav1.Condition) {
	for i, kind := range types {
		all = append(all, metav1.Condition{Type: kind, Status: []metav1.ConditionStatus{metav1.ConditionTrue,
			metav1.ConditionFalse}[i%2]})
	}
	return all
}

type hostileObject map[string]any

func (o hostileObject) asKind(version, kind string) hostileObject {
	typed := maps.Clone(o)
	typed["apiVersion"], typed["kind"] = version, kind
	return typed
}

// Objects are valid where a command depends on the value.
func hostileObjects(t *testing.T) map[string]hostileObject {
	objects := map[string]any{
		"records": &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "TXT"}, Status: v1alpha1.RecordStatus{
			FQDN: "www.example.org.", Serial: 5, Conditions: makeConditions(v1alpha1.ConditionAdopted, v1alpha1.ConditionReady)}},
		"zones": &v1alpha1.Zone{
			Spec: v1alpha1.ZoneSpec{DomainName: "example.org.", Delegations: []v1alpha1.DelegationRule{{
				Records: []v1alpha1.RecordDelegation{{Pattern: "*", Types: []string{"TXT"}}}, Zones: []string{"sub"}}},
				Reverse: &v1alpha1.ZoneReverse{Prefixes: []string{"192.0.2.0/24"}}},
			Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 5, ContentState: new(sethash.State).String(),
				ParentRef: &v1alpha1.ZoneParent{Namespace: "above"}, Conditions: makeConditions(v1alpha1.ConditionDelegated,
					v1alpha1.ConditionServable, v1alpha1.ConditionReady, v1alpha1.ConditionSettled)}},
		"delegations":   &v1alpha1.Delegation{},
		"deliveries":    &v1alpha1.Delivery{},
		"dnsclasses":    &v1alpha1.DNSClass{},
		"updatekeys":    &v1alpha1.UpdateKey{},
		"namereviews":   &v1alpha1.NameReview{},
		"changesets":    &v1alpha1.ChangeSet{},
		"installations": &v1alpha1.Installation{},
		"events":        &eventsv1.Event{EventTime: metav1.NowMicro()},
		"bind9clusters": &bind9.Bind9Cluster{}, "bind9instances": &bind9.Bind9Instance{},
		"secrets": &corev1.Secret{}, "services": &corev1.Service{}, "endpointslices": &discoveryv1.EndpointSlice{},
		"roles": &rbacv1.Role{}, "rolebindings": &rbacv1.RoleBinding{},
		"updatekeys/plain": &v1alpha1.UpdateKey{Spec: v1alpha1.UpdateKeySpec{TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: "plain"}}},
		"secrets/plain":    &corev1.Secret{Data: map[string][]byte{"name": []byte("key.team."), "secret": []byte("c2VjcmV0")}},
		"namespaces":       &corev1.Namespace{},
		"apiservices":      &apiregistrationv1.APIService{},
	}
	written := map[string]hostileObject{}
	for resource, object := range objects {
		fillTexts(reflect.ValueOf(object).Elem(), 0)
		var one hostileObject
		must.Succeed(t, json.Unmarshal(must.Get(json.Marshal(object))(t), &one))
		written[resource] = one.asKind("", reflect.TypeOf(object).Elem().Name())
	}
	written["challenges"] = hostileObject{"kind": "Challenge", "metadata": map[string]any{"name": hostile, "namespace": hostile},
		"status": map[string]any{"reason": hostile}, "spec": map[string]any{"dnsName": hostile, "solver": map[string]any{
			"dns01": map[string]any{"webhook": map[string]any{"groupName": "acme.kubi.zone"}}}}}
	return written
}

// hostileHistory has a step whose rows fit hostileDefinition.
func hostileHistory() []v1alpha1.HistoryStep {
	step := v1alpha1.HistoryStep{}
	fillTexts(reflect.ValueOf(&step).Elem(), 0)
	step.FQDN, step.From, step.Serial, step.ContentGeneration, step.Way, step.Condensed = "example.org.", 5, 6, 6, v1alpha1.WayRequest,
		false
	step.HeaderBefore, step.Zone, step.TTLs[0].Owner, step.TTLs[0].Type = nil, nil, "www", "TXT"
	step.Added, step.Removed = []v1alpha1.Row{{Owner: "www", Type: "TXT", Data: `"one"`}}, []v1alpha1.Row{{Owner: "ftp", Type: "TXT",
		Data: hostile}}
	step.TTLs[0].Before, step.TTLs[0].After = "60", "inherit"
	step.Records = []v1alpha1.HistoryRecord{{Namespace: "team", Name: "record", UID: hostile, Effect: v1alpha1.EffectAdded}}
	return []v1alpha1.HistoryStep{step}
}

// hostileDefinition is the content of a Zone after hostileHistory.
func hostileDefinition(version string, zone hostileObject) v1alpha1.ZoneEntries {
	header := content.Header{FQDN: name.MustParse("example.org."), TTL: 60, Contact: hostile}
	metadata, _ := zone["metadata"].(map[string]any)
	return v1alpha1.ZoneEntries{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ZoneEntries"},
		Metadata: v1alpha1.ZoneViewMeta{UID: fmt.Sprint(metadata["uid"])}, FQDN: "example.org.", Serial: 6, ContentGeneration: 6,
		ContentState: new(sethash.State).String(), Hash: header.Hash(sethash.State{}),
		Header: &v1alpha1.ZoneHeader{FQDN: "example.org.", TTL: 60, Contact: hostile},
		RRsets: []v1alpha1.RRset{{Owner: "www", Type: "TXT", TTL: "inherit", Data: []string{`"one"`}}}}
}

// serveHostile has hostile in every text, or in a refusal of every request, and returns a kubeconfig.
func serveHostile(t *testing.T, refuses bool) string {
	t.Helper()
	objects := hostileObjects(t)
	refusal := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: hostile,
		Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(code int, value any) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Warning", `299 - "owned`+"\u202e"+`"`)
			w.WriteHeader(code)
			_, _ = w.Write(must.Get(json.Marshal(value))(t)) // the client may have left
		}
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if r.URL.Path == "/version" {
			answer(http.StatusOK, map[string]string{"major": "1", "minor": "37", "gitVersion": hostile})
			return
		}
		group := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.SchemeGroupVersion.String(),
			Version: v1alpha1.SchemeGroupVersion.Version}
		if r.URL.Path == "/api" && !refuses {
			answer(http.StatusOK, metav1.APIVersions{})
			return
		}
		if r.URL.Path == "/apis" && !refuses {
			answer(http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: v1alpha1.GroupName, PreferredVersion: group,
				Versions: []metav1.GroupVersionForDiscovery{group}}}})
			return
		}
		if refuses || len(parts) < 3 {
			answer(int(refusal.Code), refusal)
			return
		}
		version := "v1"
		if parts[0] == "apis" {
			version, parts = parts[1]+"/"+parts[2], parts[1:]
		}
		switch parts = parts[2:]; {
		case len(parts) == 0 && strings.HasPrefix(r.URL.Path, "/apis/kubi.zone/"):
			list := metav1.APIResourceList{GroupVersion: group.GroupVersion}
			for name, kind := range map[string]string{"records": "Record", "zones": "Zone", "delegations": "Delegation"} {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: kind, Namespaced: true,
					Verbs: metav1.Verbs{"get", "list", "patch"}})
			}
			answer(http.StatusOK, list)
			return
		case len(parts) > 2 && parts[0] == "namespaces":
			parts = parts[2:]
		}
		var object hostileObject
		if len(parts) > 0 {
			object = objects[strings.Join(parts[:min(len(parts), 2)], "/")]
		}
		if object == nil && len(parts) > 0 {
			object = objects[parts[0]]
		}
		switch {
		case len(parts) > 2 && parts[2] == "entries" && r.URL.Query().Get("form") == v1alpha1.FormDefinition:
			answer(http.StatusOK, hostileDefinition(version, object))
		case len(parts) > 2 && parts[2] == "entries" && !r.URL.Query().Has("format"):
			answer(http.StatusOK, hostileObject{"fqdn": hostile, "entries": []v1alpha1.Entry{{FQDN: "www.example.org.", Type: "TXT",
				RData: hostile}}}.asKind(version, "ZoneEntries"))
		case object == nil || len(parts) > 2 && strings.HasPrefix(parts[1], "owned"):
			answer(int(refusal.Code), refusal)
		case len(parts) > 2 && parts[2] == "changes" && r.URL.Query().Get("form") == v1alpha1.FormHistory:
			answer(http.StatusOK, hostileObject{"fqdn": "example.org.", "history": hostileHistory()}.asKind(version, "ZoneChanges"))
		case len(parts) > 2 && parts[1] == "raw":
			_, _ = io.WriteString(w, oneLine) // line breaks are the server's
		case len(parts) > 2 && r.URL.Query().Has("watch"):
			changes := v1alpha1.ZoneChanges{Changes: []v1alpha1.ZoneChange{{Added: []v1alpha1.Entry{{FQDN: hostile, RData: hostile}}}}}
			changes.Kind, changes.APIVersion = "ZoneChanges", version
			answer(http.StatusOK, map[string]any{"type": "MODIFIED", "object": changes})
			answer(http.StatusOK, map[string]any{"type": "ERROR", "object": refusal})
		case len(parts) > 2:
			_, _ = io.WriteString(w, "example.org. 60 IN SOA ns.example.org. dns.example.org. 5 60 60 60 60\n")
		case len(parts) == 1 && r.Method == http.MethodGet:
			answer(http.StatusOK, hostileObject{"items": []any{object}}.asKind(version, fmt.Sprint(object["kind"])+"List"))
		case r.Method == http.MethodPatch && parts[0] == "records": // of a plan, which shows the change
			changed := object.asKind(version, "Record")
			spec := maps.Clone(changed["spec"].(map[string]any))
			spec["rdata"], changed["spec"] = hostile+hostile, spec
			answer(http.StatusOK, changed)
		default:
			answer(http.StatusOK, object.asKind(version, fmt.Sprint(object["kind"])))
		}
	}))
	t.Cleanup(api.Close)
	return must.WriteKubeconfig(t, api.URL)
}

// hostileRows are the arguments of commands that query an API server, without the output flag. HOSTILE is the text,
// MANIFEST and ZONEFILE are hostile files.
var hostileRows = map[string][]string{
	"kubectl kubizone apply":  {"-f MANIFEST", "-f RECORDS", "-f HOSTILE", "--delete HOSTILE"},
	"kubectl kubizone blame":  {"team/zone", "HOSTILE"},
	"kubectl kubizone diff":   {"team/zone 5", "team/zone HOSTILE", "HOSTILE 5"},
	"kubectl kubizone doctor": {""},
	"kubectl kubizone log":    {"team/zone", "team/zone --follow", "team/zone --since HOSTILE", "HOSTILE"},
	"kubectl kubizone revert": {"team/zone --to 5 --plan", "team/zone --to HOSTILE", "HOSTILE --to 5"},
	"kubectl kubizone show":   {"team/zone@5", "HOSTILE@5", "team/zone@HOSTILE"},
	"kubectl kubizone export": {"team/raw", "HOSTILE", "team/HOSTILE/x"},
	"kubectl kubizone import": {"ZONEFILE --zone team/zone", "ZONEFILE --zone HOSTILE", "MANIFEST --from-crd",
		"HOSTILE --zone team/zone", "axfr://HOSTILE/zone --zone team/zone"},
	"kubectl kubizone may":              {"create www.example.org TXT", "create HOSTILE HOSTILE -n HOSTILE"},
	"kubectl kubizone names":            {"", "-n HOSTILE"},
	"kubizone peer-certificate":         {"--secret team/secret --hosts HOSTILE --dir HOSTILE"},
	"kubectl kubizone plan":             {"-f MANIFEST", "ZONEFILE --zone team/zone", "-f HOSTILE", "-k HOSTILE"},
	"kubectl kubizone status":           {"", "-n HOSTILE"},
	"kubectl kubizone tree":             {"", "HOSTILE"},
	"kubectl kubizone updatekey create": {"key --key-reader HOSTILE", "HOSTILE"},
	"kubectl kubizone updatekey show":   {"key", "key --secrets-dir HOSTILE"},
	"kubectl kubizone verify":           {"team/zone", "HOSTILE", "team/zone --name-server HOSTILE"},
	"kubectl kubizone who":              {"www.example.org", "HOSTILE"},
	"kubectl kubizone why": {"record --resolver=none", "HOSTILE --resolver=none", "www.example.org --resolver=none",
		"zone/zone --resolver=none"},
}

var hostileLines = map[string][]string{
	"kubizone":                               {"HOSTILE", "-v HOSTILE version", "why HOSTILE"},
	"kubectl kubizone":                       {"HOSTILE", "-v HOSTILE version"},
	"kubectl kubizone version":               {"HOSTILE"},
	"kubizone apiserver":                     {"--etcd-servers HOSTILE --authentication-kubeconfig HOSTILE"},
	"kubizone backup":                        {"HOSTILE --data-dir HOSTILE"},
	"kubizone bind-agent":                    {"--rndc-key-file HOSTILE", "--listen HOSTILE"},
	"kubectl kubizone completion":            {"HOSTILE"},
	"kubizone completion":                    {"HOSTILE"},
	"kubectl kubizone completion bash":       {"HOSTILE"},
	"kubizone completion bash":               {"HOSTILE"},
	"kubectl kubizone completion fish":       {"HOSTILE"},
	"kubizone completion fish":               {"HOSTILE"},
	"kubectl kubizone completion powershell": {"HOSTILE"},
	"kubizone completion powershell":         {"HOSTILE"},
	"kubectl kubizone completion zsh":        {"HOSTILE"},
	"kubizone completion zsh":                {"HOSTILE"},
	"kubizone controller":                    {"--lease HOSTILE"},
	"kubectl kubizone explain":               {"HOSTILE"},
	"kubizone external-dns":                  {"--listen HOSTILE"},
	"kubizone fleet":                         {"--lease HOSTILE"},
	"kubizone fsck":                          {"--data-dir HOSTILE"},
	"kubectl kubizone console":               {"--port HOSTILE", "--kubeconfig HOSTILE"},
	"kubectl kubizone help":                  {"HOSTILE"},
	"kubizone help":                          {"HOSTILE"},
	"kubectl kubizone lint":                  {"MANIFEST", "HOSTILE"},
	"kubectl kubizone review":                {"-f MANIFEST", "-f HOSTILE", "-f RECORDS --without-server"},
	"kubizone primary":                       {"--dns-listen HOSTILE"},
	"kubizone replace-member":                {"HOSTILE --data-dir HOSTILE --etcd-initial-cluster HOSTILE"},
	"kubizone restore":                       {"HOSTILE --data-dir HOSTILE"},
	"kubizone up":                            {"--listen HOSTILE", "--data-dir HOSTILE --listen HOSTILE"},
	"kubectl kubizone options":               {"HOSTILE"},
	"kubectl kubizone updatekey":             {"HOSTILE"},
	"kubizone version":                       {"HOSTILE"},
}

func eachCommand(command *cobra.Command, do func(*cobra.Command)) {
	do(command)
	for _, below := range command.Commands() {
		if !slices.Contains(clientWords, below.Name()) || !below.Hidden {
			eachCommand(below, do)
		}
	}
}

func listForms(t *testing.T, command *cobra.Command) []string {
	t.Helper()
	forms := []string{""}
	for _, name := range []string{"output", "format"} {
		if command.LocalFlags().Lookup(name) == nil {
			continue
		}
		complete, ok := command.GetFlagCompletionFunc(name)
		if !ok {
			t.Errorf("%s: no completion lists the forms of --%s", command.CommandPath(), name)
			continue
		}
		forms = nil
		values, _ := complete(command, nil, "")
		for _, value := range values {
			forms = append(forms, "--"+name+"="+value)
		}
	}
	return forms
}

// writeHostile returns the words of hostileRows with their values.
func writeHostile(t *testing.T) *strings.Replacer {
	t.Helper()
	directory := t.TempDir()
	write := func(end, text string) string {
		path := filepath.Join(directory, oneLine+end)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	quote := func(manifest string) string {
		return strings.ReplaceAll(manifest, "TEXT", strconv.QuoteToASCII(hostile))
	}
	const records = `
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: TEXT, namespace: team},
  spec: {domainName: www, type: TEXT, rdata: TEXT, TEXT: 1}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: www, namespace: team},
  spec: {domainName: TEXT, type: TXT, rdata: TEXT, zoneRef: {name: TEXT}}}
`
	const others = `---
{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: TEXT, namespace: team}, spec: {domainName: TEXT, contact: TEXT}}
---
{apiVersion: TEXT, kind: TEXT, metadata: {name: TEXT}}
`
	return strings.NewReplacer("HOSTILE", hostile, "RECORDS", write("records.yaml", quote(records)),
		"MANIFEST", write(".yaml", quote(records+others)),
		"ZONEFILE", write(".zone", "$ORIGIN example.org.\n@ 60 IN SOA ns dns 1 60 60 60 60\n"+
			"www 60 IN TXT \""+oneLine+"\"\n"+oneLine+" 60 IN A 192.0.2.1\n"))
}

// Every command in every output form, with objects, files and refusals full of control characters, bidirectional
// controls and line breaks (attack 28).
func TestMain_obeysNoTenant(t *testing.T) {
	files := writeHostile(t)
	answers, refuses := serveHostile(t, false), serveHostile(t, true)
	known := 0
	both := func(do func(*cobra.Command)) {
		for _, root := range []*cobra.Command{New(), client.New()} {
			root.InitDefaultHelpCmd()
			root.InitDefaultCompletionCmd()
			eachCommand(root, do)
		}
	}
	both(func(command *cobra.Command) {
		path := command.CommandPath()
		rows, asks := hostileRows[path]
		lines, ok := hostileLines[path]
		if asks == ok {
			t.Errorf("%s: write a row for it into hostileRows or hostileLines", path)
		}
		known++
		rest, start := strings.TrimPrefix(path, "kubizone"), runCommand
		if command.Root().Name() != "kubizone" {
			rest, start = strings.TrimPrefix(path, command.Root().CommandPath()), runClient
		}
		begin := strings.Fields(rest)
		run := func(t *testing.T, arguments ...string) (out string) {
			t.Helper()
			code, out, stderr := start(append(slices.Clone(begin), arguments...)...)
			t.Logf("%q: %d\n%s%s", arguments, code, out, stderr)
			expectTame(t, out)
			expectTame(t, stderr)
			if !strings.Contains(out+stderr, "owned") && !strings.Contains(out, "Usage:") {
				t.Errorf("%q prints nothing of the tenant's: %s%s", arguments, out, stderr)
			}
			return out
		}
		t.Run(path, func(t *testing.T) {
			run(t, "--"+hostile)
			if command.Root().Name() == "kubizone" {
				run(t, "--logging-format=json", "--"+hostile)
			}
			for _, form := range listForms(t, command) {
				for _, row := range slices.Concat(rows, lines) {
					var arguments []string
					for _, word := range append(strings.Fields(row), strings.Fields(form)...) {
						arguments = append(arguments, files.Replace(word))
					}
					if !asks {
						run(t, arguments...)
						continue
					}
					expectForm(t, form, run(t, append(arguments, "--kubeconfig", answers)...))
					run(t, append(arguments, "--kubeconfig", refuses)...)
				}
			}
		})
	})
	if known < len(hostileRows)+len(hostileLines) {
		t.Errorf("%d commands, %d of which have rows: a row is of no command", known, len(hostileRows)+len(hostileLines))
	}
	for _, arguments := range [][]string{{"who", ""}, {"why", ""}, {"tree", ""}, {"may", "create", ""}} {
		_, out, stderr := runClient(append(append([]string{"__complete"}, arguments...), "--kubeconfig", answers)...)
		expectTame(t, out+stderr)
	}
}

func expectForm(t *testing.T, form, out string) {
	t.Helper()
	decoder := interface{ Decode(any) error }(json.NewDecoder(strings.NewReader(out)))
	switch {
	case out == "" || !strings.HasSuffix(form, "=json") && !strings.HasSuffix(form, "=yaml"):
		return
	case strings.HasSuffix(form, "=yaml"):
		decoder = yaml.NewDecoder(strings.NewReader(out))
	}
	var texts []string
	var collect func(any)
	collect = func(value any) {
		switch value := value.(type) {
		case string:
			texts = append(texts, value)
		case []any:
			for _, one := range value {
				collect(one)
			}
		case map[string]any:
			for key, one := range value {
				texts = append(texts, key)
				collect(one)
			}
		}
	}
	for {
		var document any
		err := decoder.Decode(&document)
		if err == io.EOF {
			break
		}
		must.Succeed(t, err)
		collect(document)
	}
	raw := func(text string) bool { return strings.ContainsFunc(text, isUnprintable) }
	if strings.Contains(out, "owned") && !slices.ContainsFunc(texts, raw) {
		t.Errorf("no text of %s is that of the tenant: %s", form, out)
	}
}

// klog does not escape texts without keys (attack 28).
func TestMain_logsNoTenant(t *testing.T) {
	defer klog.ClearLogger()
	for _, format := range []string{"text", "json"} {
		var out, stderr bytes.Buffer
		if code := Main([]string{"version", "--logging-format", format}, &out, &stderr); code != 0 {
			t.Fatal(code, stderr.String())
		}
		klog.Error(hostile)
		klog.ErrorS(nil, oneLine, "zone", hostile)
		klog.Flush()
		text := stderr.String()
		if strings.ContainsFunc(text, isUnprintable) || strings.Contains(text, "\nforged") || strings.Count(text, "owned") < 3 {
			t.Errorf("%s", text)
		}
	}
}
