// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"kubi.zone/kubizone/test/must"
)

// callers are the packages that send requests for a component. Of transferclass, the controller uses only the part
// that follows Bind9Instances.
var callers = map[string][]string{
	"controller": {"cmd/kubizone/controller", "cmd/kubizone/delivering", "pkg/delivery/secrets", "pkg/delivery/controller/class", "pkg/bind9/signing",
		"pkg/zone/zoneview/definition", "pkg/zone/zoneview/feed/fromapi"},
	"primary": {"cmd/kubizone/primary", "cmd/kubizone/dnsserving", "pkg/delivery/controller/transferclass", "pkg/delivery/controller/updatekey",
		"pkg/zone/zoneview/definition", "pkg/zone/zoneview/feed/fromapi"},
	"fleet": {"cmd/kubizone/fleet", "pkg/bind9/fleet"},
}

type request struct{ verb, group, resource string }

// byValues: requests that the chart's values permit.
var byValues = []request{{"get", "", "secrets"}, {"watch", "", "secrets"}}

// TestRBAC_givesWhatTheProgramsAskFor: each component's roles permit its requests by typed clients and informers,
// which a program's own tests do not show with a fake or an administrator's client. Requests by a REST client, and
// client-go's own (Leases, Events), are not found here.
func TestRBAC_givesWhatTheProgramsAskFor(t *testing.T) {
	asked := findRequests(t)
	for component, in := range callers {
		given := readRules(t, component)
		for _, from := range in {
			for one, at := range asked[from] {
				allowed := slices.ContainsFunc(given, func(rule rbacv1.PolicyRule) bool {
					return slices.Contains(rule.Verbs, one.verb) && slices.Contains(rule.APIGroups, one.group) && slices.Contains(rule.Resources, one.resource)
				})
				if !allowed && (component == "fleet" || !slices.Contains(byValues, one)) {
					t.Errorf("%s: no rule of artifacts/deploy/%s/rbac.yaml gives %s %s in %q: ask otherwise, or give it in charts/kubizone", at, component, one.verb, one.resource, one.group)
				}
			}
		}
	}
	// Nor do the roles permit unused updates of Kubizone's own objects. Some other writes are not found here.
	for component, in := range callers {
		for _, rule := range readRules(t, component) {
			if !slices.Contains(rule.Verbs, "update") || !strings.HasSuffix(rule.APIGroups[0], "kubi.zone") {
				continue
			}
			for _, resource := range rule.Resources {
				one := request{"update", rule.APIGroups[0], resource}
				if !slices.ContainsFunc(in, func(from string) bool { return asked[from][one] != "" }) {
					t.Errorf("artifacts/deploy/%s/rbac.yaml gives update %s in %q, for which the program does not ask", component,
						resource, one.group)
				}
			}
		}
	}
	for from, one := range map[string]request{"pkg/delivery/controller/class": {"patch", "kubi.zone", "dnsclasses/status"}, "pkg/bind9/fleet": {"watch",
		"kubi.zone", "dnsclasses"}} {
		if asked[from][one] == "" {
			t.Errorf("%s asks for %v, which is not found", from, one)
		}
	}
}

func readRules(t *testing.T, component string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(manifests, component, "rbac.yaml")))(t)
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var role rbacv1.ClusterRole // a Role has its rules at the same place
		must.Succeed(t, yaml.Unmarshal(document, &role))
		rules = append(rules, role.Rules...)
	}
	return rules
}

const module = "kubi.zone/kubizone/"

// findRequests returns the requests of each package, with an example of their place.
func findRequests(t *testing.T) map[string]map[request]string {
	t.Helper()
	var patterns []string
	for _, in := range callers {
		for _, from := range in {
			patterns = append(patterns, module+from)
		}
	}
	loaded := must.Get(packages.Load(&packages.Config{Mode: packages.LoadSyntax}, patterns...))(t)
	asked := map[string]map[request]string{}
	for _, of := range loaded {
		for _, wrong := range of.Errors {
			t.Fatal(wrong)
		}
		here := map[request]string{}
		asked[strings.TrimPrefix(of.PkgPath, module)] = here
		for _, file := range of.Syntax {
			calls := map[ast.Expr]*ast.CallExpr{}
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					calls[call.Fun] = call
					for _, one := range patchesOf(of.TypesInfo, call) {
						here[one] = of.Fset.Position(call.Pos()).String()
					}
				}
				method, ok := node.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				at := of.Fset.Position(method.Pos()).String()
				for _, one := range requestsOf(of.TypesInfo, method, calls[method]) {
					if here[one] = at; one == (request{}) {
						t.Fatalf("%s: this test does not know which right the request needs: add it to requestsOf", at)
					}
				}
				return true
			})
		}
	}
	return asked
}

var clients = []string{
	module + "api/client/clientset/versioned/typed/", "k8s.io/client-go/kubernetes/typed/",
	module + "api/client/informers/externalversions/", "k8s.io/client-go/informers/",
}

var groups = map[string]string{"kubizone": "kubi.zone", "bind9": "bind9.kubi.zone", "core": "", "apps": "apps",
	"discovery": "discovery.k8s.io"}

var isClient = regexp.MustCompile("(Interface|Informer|Lister)$")

func answersClient(result types.Type) bool {
	named, ok := result.(*types.Named)
	return ok && isClient.MatchString(named.Obj().Name())
}

// patchesOf is for a call that passes a typed client on. The subresource is a constant argument.
func patchesOf(info *types.Info, call *ast.CallExpr) (patches []request) {
	function, ok := info.TypeOf(call.Fun).(*types.Signature)
	if !ok {
		return nil
	}
	for i := range min(len(call.Args), function.Params().Len()) {
		as := function.Params().At(i).Type()
		group, kind := clientOf(info.TypeOf(call.Args[i]))
		if method, _, _ := types.LookupFieldOrMethod(as, false, nil, "Patch"); kind == "" || method == nil || answersClient(as) {
			continue
		}
		resource := resourceOf(kind)
		if value := info.Types[call.Args[len(call.Args)-1]].Value; value != nil && value.Kind() == constant.String {
			resource += "/" + constant.StringVal(value)
		}
		patches = append(patches, request{"patch", group, resource})
	}
	return patches
}

// clientOf returns the group and kind of a typed client, else empty strings.
func clientOf(of types.Type) (group, kind string) {
	client, ok := of.(*types.Named)
	if !ok || client.Obj().Pkg() == nil {
		return "", ""
	}
	for _, from := range clients {
		if rest, ok := strings.CutPrefix(client.Obj().Pkg().Path(), from); ok {
			directory, _, _ := strings.Cut(rest, "/")
			if kind, ok := strings.CutSuffix(client.Obj().Name(), "Interface"); ok {
				return groups[directory], kind
			}
		}
	}
	return "", ""
}

func resourceOf(kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return strings.ReplaceAll(plural.Resource, "keies", "keys")
}

// In requestsOf, a request without a verb is not understood. call is nil if the method is passed on.
func requestsOf(info *types.Info, method *ast.SelectorExpr, call *ast.CallExpr) []request {
	if info.Selections[method] == nil {
		return nil
	}
	client, ok := info.Selections[method].Recv().(*types.Named)
	if !ok || client.Obj().Pkg() == nil {
		return nil
	}
	path := client.Obj().Pkg().Path()
	from := slices.IndexFunc(clients, func(one string) bool { return strings.HasPrefix(path, one) })
	if from < 0 {
		return nil
	}
	directory, _, _ := strings.Cut(strings.TrimPrefix(path, clients[from]), "/")
	group, known := groups[directory]
	name := strings.TrimPrefix(client.Obj().Name(), "Typed")
	if kind, is := strings.CutSuffix(name, "Informer"); is && known {
		return []request{{"list", group, resourceOf(kind)}, {"watch", group, resourceOf(kind)}}
	}
	kind, is := strings.CutSuffix(name, "Interface")
	results := info.Selections[method].Type().(*types.Signature).Results()
	if !is || results.Len() > 0 && answersClient(results.At(0).Type()) {
		return nil
	}
	switch verb := method.Sel.Name; {
	case !known:
	case slices.Contains([]string{"Create", "Update", "Delete", "Get", "List", "Watch"}, verb):
		return []request{{strings.ToLower(verb), group, resourceOf(kind)}}
	case verb == "Apply":
		return []request{{"create", group, resourceOf(kind)}, {"patch", group, resourceOf(kind)}}
	case verb == "UpdateStatus":
		return []request{{"update", group, resourceOf(kind) + "/status"}}
	case verb == "Patch" && (call == nil || len(call.Args) == 5):
		return []request{{"patch", group, resourceOf(kind)}}
	case verb == "Patch" && len(call.Args) == 6 && info.Types[call.Args[5]].Value != nil:
		return []request{{"patch", group, resourceOf(kind) + "/" + constant.StringVal(info.Types[call.Args[5]].Value)}}
	}
	return []request{{}}
}
