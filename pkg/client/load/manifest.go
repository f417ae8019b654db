// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func (l *Loader) loadManifests(ctx context.Context, source Source, paths []string) (Result, error) {
	var result Result
	var all []*manifest
	for _, path := range paths {
		text, err := l.ReadText(ctx, path, func() ([]byte, error) { return os.ReadFile(path) })
		if err := l.reportFailed(ctx, &result, path, err); err != nil {
			return result, err
		}
		objects, refused := l.ReadObjects(path, text)
		result.Refused += refused
		for _, o := range objects {
			all = append(all, newManifest(path, o))
		}
	}
	one, err := l.applyManifests(ctx, source.String(), all)
	result.Add(one)
	return result, err
}

// Apply applies objects. Its reports have the path, or the file from which ReadObjects of this Loader has read the
// object.
func (l *Loader) Apply(ctx context.Context, path string, objects []*unstructured.Unstructured) (Result, error) {
	var all []*manifest
	for _, o := range objects {
		all = append(all, newManifest(cmp.Or(l.paths[o], path), o))
	}
	result, err := l.applyManifests(ctx, path, all)
	l.reportHidden()
	return result, err
}

func (l *Loader) applyManifests(ctx context.Context, what string, all []*manifest) (Result, error) {
	began := time.Now()
	var result Result
	noteResolvedWarnings(all)
	var classes, zones, delegations, rest []*manifest
	for _, m := range all {
		switch m.object.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Group: v1alpha1.GroupName, Kind: "DNSClass"}:
			classes = append(classes, m)
		case schema.GroupKind{Group: v1alpha1.GroupName, Kind: "Zone"}:
			zones = append(zones, m)
			l.appliedZones[types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}] = true
		case schema.GroupKind{Group: v1alpha1.GroupName, Kind: "Delegation"}:
			delegations = append(delegations, m)
		default:
			rest = append(rest, m)
		}
	}
	// A zone made above existing zones may not become their parent, and records wait for their zone. So classes
	// and zones come first, parents before children, then Delegations.
	sortParentsFirst(zones)
	if l.cfg.DryRun {
		one, err := l.dryRunManifests(ctx, what, zones, delegations, slices.Concat(classes, rest))
		result.Add(one)
		if err != nil {
			return result, fmt.Errorf("plan %s: %w", what, err)
		}
		return result, nil
	}
	for _, batch := range []struct {
		groups  [][]*manifest
		workers int
	}{{[][]*manifest{classes}, 1}, {[][]*manifest{zones}, 1}, {[][]*manifest{delegations}, 1}, {byOwner(rest), l.workers}} {
		one, err := l.applyAll(ctx, what, batch.groups, batch.workers)
		result.Add(one)
		if err != nil {
			return result, fmt.Errorf("load %s: %w", what, err)
		}
	}
	l.printf("%s: %s, in %.1f s", what, result, time.Since(began).Seconds())
	return result, nil
}

// byOwner groups manifests by DNS name. The oldest comes first and keeps the name. DS comes last, after its NS.
func byOwner(manifests []*manifest) [][]*manifest {
	groups := groupBy(manifests, func(m *manifest) string { return m.owner })
	for _, group := range groups {
		slices.SortStableFunc(group, func(one, other *manifest) int {
			return cmp.Or(one.created.Compare(other.created), lastDS(one)-lastDS(other))
		})
	}
	return groups
}

func lastDS(m *manifest) int {
	if m.rrtype() == rdata.DS {
		return 1
	}
	return 0
}

func (m *manifest) rrtype() rdata.Type {
	text, _, _ := unstructured.NestedString(m.object.Object, "spec", "type")
	if t, err := rdata.ParseType(text); err == nil && m.object.GetKind() == "Record" {
		return t
	}
	return 0
}

// noteResolvedWarnings notes in each manifest the warnings of the server that another manifest resolves: for example,
// the Delegation of a Zone resolves "no rules".
func noteResolvedWarnings(all []*manifest) {
	var written, named WrittenNames
	for _, m := range all {
		if written.AddObject(m.object); m.rrtype() == rdata.NS {
			for _, host := range HostsOf(m.object) {
				named.Add(host)
			}
		}
	}
	answers := make(map[string]bool)
	idOf := func(m *manifest) string { return "zone " + m.object.GetNamespace() + "/" + m.object.GetName() }
	for _, m := range all {
		domainName, _, _ := unstructured.NestedString(m.object.Object, "spec", "domainName")
		target, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		namespace, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "namespace")
		of := "zone " + cmp.Or(namespace, m.object.GetNamespace()) + "/" + target
		view, _, _ := unstructured.NestedString(m.object.Object, "spec", "view")
		if domainName == "@" {
			domainName = of
		}
		kind := m.object.GetKind()
		if m.rrtype() == rdata.NS {
			kind = "NS"
		}
		answers[map[string]string{"DNSClass": "class " + m.object.GetName(), "Zone": "view " + view, "Delegation": "rules of " + of,
			"NS": "NS of " + domainName}[kind]] = true
	}
	for _, m := range all {
		if m.rrtype() != 0 {
			has := !slices.ContainsFunc(HostsOf(m.object), func(host string) bool { return !written.Have(host) })
			m.resolvedWarnings = map[string]bool{v1alpha1.WarningAbsentHost: has, v1alpha1.WarningUnclaimedHost: has,
				v1alpha1.WarningUnnamedGlue: named.Have(m.owner)}
		}
		if m.object.GetKind() == "DNSClass" {
			of, _, _ := unstructured.NestedStringSlice(m.object.Object, "spec", "views")
			m.resolvedWarnings = map[string]bool{v1alpha1.WarningNoZones: !slices.ContainsFunc(of, func(view string) bool {
				return !answers["view "+view]
			})}
		}
		if m.object.GetKind() != "Zone" {
			continue
		}
		domainName, _, _ := unstructured.NestedString(m.object.Object, "spec", "domainName")
		refs, _, _ := unstructured.NestedSlice(m.object.Object, "spec", "dnsClassRefs")
		primary, _, _ := unstructured.NestedString(m.object.Object, "spec", "primaryNameServer")
		m.resolvedWarnings = map[string]bool{
			v1alpha1.WarningAbsentHost:   written.Have(primary),
			v1alpha1.WarningNoRules:      answers["rules of "+idOf(m)],
			v1alpha1.ReasonNoNameServers: answers["NS of "+idOf(m)] || answers["NS of "+domainName],
			v1alpha1.ReasonNoClass: !slices.ContainsFunc(refs, func(ref any) bool {
				fields, _ := ref.(map[string]any)
				return !answers[fmt.Sprintf("class %v", fields["name"])]
			}),
		}
	}
}

// applyAll retries refused manifests while any succeeds, because they may depend on each other.
func (l *Loader) applyAll(ctx context.Context, what string, groups [][]*manifest, workers int) (Result, error) {
	var result Result
	for len(groups) > 0 {
		var mutex sync.Mutex
		var again [][]*manifest
		var reasons []Refusal
		tried := 0
		for _, group := range groups {
			tried += len(group)
		}
		apply := func(ctx context.Context, group []*manifest) (result Result, err error) {
			var left []*manifest
			for _, m := range group {
				one, refused, err := l.applyManifest(ctx, m)
				if err != nil {
					return result, err
				}
				result.Add(one)
				if refused != nil {
					left = append(left, m)
					mutex.Lock()
					reasons = append(reasons, *refused)
					mutex.Unlock()
				}
			}
			if len(left) > 0 {
				mutex.Lock()
				again = append(again, left)
				mutex.Unlock()
			}
			return result, nil
		}
		one, err := runWorkers(ctx, l, what, workers, [][][]*manifest{groups}, apply)
		result.Add(one)
		if err != nil {
			return result, err
		}
		if len(reasons) == tried || len(reasons) == 0 {
			for _, r := range reasons {
				l.reportRefused(r)
			}
			result.Refused += len(reasons)
			return result, nil
		}
		groups = again
	}
	return result, nil
}

func (l *Loader) applyManifest(ctx context.Context, m *manifest) (Result, *Refusal, error) {
	refused := func(reason, fix string) (Result, *Refusal, error) {
		r := m.refusal(reason, fix)
		return Result{}, &r, nil
	}
	kind := m.object.GroupVersionKind()
	mapping, err := l.mapping.RESTMapping(kind.GroupKind(), kind.Version)
	if reason, fix := UnknownKind(m.object); reason != "" && meta.IsNoMatchError(err) {
		return refused(reason, fix)
	}
	if meta.IsNoMatchError(err) {
		return refused(fmt.Sprintf("the server has no kind %s in %s", kind.Kind, m.object.GetAPIVersion()), "load it into a server "+
			"that has it")
	}
	if err != nil {
		return Result{}, nil, err
	}
	var resource dynamic.ResourceInterface = l.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = l.dynamic.Resource(mapping.Resource).Namespace(m.object.GetNamespace())
	} else {
		m.object.SetNamespace("")
	}
	before, err := resource.Get(ctx, m.object.GetName(), metav1.GetOptions{})
	if err != nil {
		before = nil // absent or unreadable; the apply reports any error
	}
	m.before = before
	judged := ctx
	if !l.cfg.DryRun {
		judged = l.withZone(ctx, describeObject(m.object), m.resolvedWarnings)
	}
	manager, clientSide := l.managerOf(before)
	// Without ForceConflicts, another manager's later change is a conflict.
	after, err := rrsets.Retry(ctx, func() (*unstructured.Unstructured, error) {
		if clientSide {
			return l.mergeManifest(judged, resource, m, manager)
		}
		return resource.Apply(judged, m.object.GetName(), m.object, metav1.ApplyOptions{FieldManager: manager,
			DryRun: l.dryRun(), Force: l.cfg.ForceConflicts})
	})
	if apierrors.IsConflict(err) {
		l.reportLeftAsIs(m.refusal(err.Error(), ""))
		return Result{Left: 1}, nil, nil
	}
	if reason, ok := refusalReason(err); ok {
		r := m.refusal(reason, "")
		r.final = !apierrors.IsForbidden(err) && slices.ContainsFunc(refusal.Of(err), isFinal)
		return Result{}, &r, nil
	}
	if err != nil {
		return Result{}, nil, fmt.Errorf("%s: %s: %w", m.path, describeObject(m.object), err)
	}
	m.answer = after
	// The resourceVersion does not count, because it is arbitrary in a dry run, and changes with the status.
	if before != nil && objectChange(before, after) == "" {
		return Result{Present: 1}, nil, nil
	}
	if l.cfg.DryRun && !l.showManifest(m, before, after) {
		return Result{Present: 1}, nil, nil
	}
	return Result{Written: 1}, nil, nil
}

func (l *Loader) mergeManifest(ctx context.Context, resource dynamic.ResourceInterface, m *manifest, manager string) (
	*unstructured.Unstructured, error) {
	patch := m.object.DeepCopy()
	if err := unstructured.SetNestedMap(patch.Object, clientPatch(m.object, m.before), "spec"); err != nil {
		return nil, err
	}
	body, err := patch.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, m.object.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager,
		DryRun: l.dryRun(), FieldValidation: metav1.FieldValidationStrict})
}

// ReadObjects parses YAML or JSON, drops Namespace objects, and reports and counts invalid documents.
func (l *Loader) ReadObjects(path string, text []byte) (objects []*unstructured.Unstructured, refused int) {
	objects, wrong := ReadObjects(path, text)
	for _, r := range wrong {
		l.reportRefused(r)
	}
	// A standalone server has every namespace.
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}
	})
	for _, o := range objects {
		if l.paths[o] = path; o.GetNamespace() == "" {
			o.SetNamespace(l.cfg.Namespace)
		}
	}
	return objects, len(wrong)
}

// ReadObjects reads the documents of a YAML or JSON file, and the items of lists. A Refusal has the number of the
// document's first line.
func ReadObjects(path string, text []byte) (read []*unstructured.Unstructured, refused []Refusal) {
	for first, document := range splitDocuments(text) {
		refuse := func(reason, fix string) {
			refused = append(refused, Refusal{Path: path, Lines: []int{first}, Reason: reason, Fix: fix})
		}
		// Strict, or a value of a duplicate key would be lost.
		asJSON, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			refuse(err.Error(), "")
			continue
		}
		var content map[string]any
		if err := utiljson.Unmarshal(asJSON, &content); err != nil {
			refuse("not an object: "+err.Error(), "an object begins with apiVersion and kind")
			continue
		}
		if len(content) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetAPIVersion() == "" || object.GetKind() == "" {
			refuse("apiVersion or kind is missing", "an object begins with both")
			continue
		}
		add := func(o *unstructured.Unstructured) {
			if o.GetName() == "" {
				refuse(fmt.Sprintf("metadata.name of a %s is missing", o.GetKind()), "name it: objects are applied by name, "+
					"so that a second load finds them")
				return
			}
			read = append(read, o)
		}
		if !object.IsList() {
			add(object)
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			add(item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			refuse(err.Error(), "")
		}
	}
	return read, refused
}

// hasContent reports whether a line of YAML has more than a comment.
func hasContent(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	return len(trimmed) > 0 && trimmed[0] != '#'
}

// splitDocuments yields the documents of a text, each with the number of its first line with content.
func splitDocuments(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		var document []byte
		first, number := 0, 0
		for line := range bytes.Lines(text) {
			number++
			if after, found := bytes.CutPrefix(line, []byte("---")); found && !hasContent(after) {
				if first > 0 && !yield(first, document) {
					return
				}
				document, first = nil, 0
				continue
			}
			document = append(document, line...)
			if first == 0 && hasContent(line) {
				first = number
			}
		}
		if first > 0 {
			yield(first, document)
		}
	}
}

func sortParentsFirst(zones []*manifest) {
	byObject := make(map[string]*manifest, len(zones))
	id := func(namespace, object string) string { return namespace + "/" + object }
	for _, m := range zones {
		byObject[id(m.object.GetNamespace(), m.object.GetName())] = m
	}
	var depth func(m *manifest, seen int) int
	depth = func(m *manifest, seen int) int {
		domainName, _, _ := unstructured.NestedString(m.object.Object, "spec", "domainName")
		if fqdn, err := name.Parse(domainName); err == nil {
			return fqdn.NumLabels()
		}
		relative, err := name.ParseRel(domainName)
		if err != nil {
			return math.MaxInt32 // refused by the server in any order
		}
		namespace, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "namespace")
		namespace = cmp.Or(namespace, m.object.GetNamespace())
		target, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		parent := byObject[id(namespace, target)]
		if parent == nil || seen > len(zones) {
			return len(relative.Labels())
		}
		return depth(parent, seen+1) + len(relative.Labels())
	}
	slices.SortStableFunc(zones, func(before, after *manifest) int { return depth(before, 0) - depth(after, 0) })
}
