// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/decoding"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/cmd/program"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/pattern"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/refusal"
)

// ErrRefused is returned if a server would refuse an object.
var ErrRefused = program.No("a server refuses the objects with errors above")

// NewCommand returns the sub-command.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lint FILE...",
		Short: "judge manifests without a server",
		Long: `Judge the Zones, Records, Delegations, DNSClasses and UpdateKeys of manifests (.yaml, .yml, .json, directories of them, or -)
each by itself, as the server does: errors and warnings in its words. Objects of other kinds are passed over. What rests on
other objects (rules, claims, hosts that the zone lacks) says kubectl kubizone plan. The exit code is 1 for an error.`,
		Example: "  kubectl kubizone lint records.yaml zones/\n  kustomize build . | kubectl kubizone lint -",
		Args:    cobra.MinimumNArgs(1),
	}
	format := output.AddFormat(command)
	command.RunE = func(command *cobra.Command, files []string) error {
		return lintFiles(files, command.InOrStdin(), command.OutOrStdout(), format)
	}
	return command
}

// Results are the results of the command by their kinds.
func Results() map[string]any { return map[string]any{"LintReport": report{}} }

type report struct {
	Findings []finding `json:"findings"`
	Judged   int       `json:"judged"`
	Refused  int       `json:"refused"`
	Warnings int       `json:"warnings"`
	// PassedOver is the number of objects of other kinds.
	PassedOver int `json:"passedOver"`
}

type finding struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Object is a file, with kind and name; "" if the text has them.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

func (r *report) printText(text *output.Text) {
	for _, f := range r.Findings {
		if f.Object != "" {
			text.Line("%s: %s: %s", f.Severity, f.Object, f.Text)
		} else {
			text.Line("%s: %s", f.Severity, f.Text)
		}
	}
	text.Line("%d objects judged: %d refused, %d warnings; %d of other kinds passed over", r.Judged, r.Refused, r.Warnings, r.PassedOver)
}

var judges = map[string]func(runtime.Object) (field.ErrorList, []string){
	"Record":     judgeBy(validation.Record, validation.RecordWarnings),
	"Zone":       judgeBy(validation.Zone, validation.NewZoneWarnings),
	"Delegation": judgeBy(validation.Delegation, validation.DelegationWarnings),
	"DNSClass":   judgeBy(func(c *v1alpha1.DNSClass) field.ErrorList { return validation.DNSClass(c, false) }, validation.DNSClassWarnings),
	"UpdateKey":  judgeBy(validation.UpdateKey, func(*v1alpha1.UpdateKey) []string { return nil }),
}

func judgeBy[T runtime.Object](validate func(T) field.ErrorList, warn func(T) []string) func(runtime.Object) (field.ErrorList, []string) {
	return func(o runtime.Object) (field.ErrorList, []string) { return validate(o.(T)), warn(o.(T)) }
}

type linter struct {
	report
	decoder runtime.Decoder
	// answered has the warnings of Zones that another object of the files resolves.
	answered map[string]bool
	// written has the names in the files, zones the names of Zones by object.
	written load.WrittenNames
	zones   map[types.NamespacedName]name.Name
}

type file struct {
	path    string
	objects []*unstructured.Unstructured
	wrong   []load.Refusal
}

func lintFiles(files []string, in io.Reader, out io.Writer, format *output.Format) error {
	registry := install.New()
	info, _ := runtime.SerializerInfoForMediaType(registry.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoders := decoding.Serializer{NegotiatedSerializer: registry.Codecs, Creater: registry.Scheme}
	l := &linter{decoder: decoders.DecoderToVersion(info.StrictSerializer, install.InternalGroupVersion),
		report:   report{Findings: []finding{}},
		answered: map[string]bool{}, zones: map[types.NamespacedName]name.Name{}}
	var all []file
	for _, file := range files {
		paths := []string{file}
		if file != "-" {
			found, err := load.Source{Path: file}.Files()
			if err != nil {
				return err
			}
			if paths = found.Manifests; len(paths) == 0 {
				return fmt.Errorf("%s: no manifest (.yaml, .yml, .json); kubectl kubizone plan judges zone files", file)
			}
		}
		for _, path := range paths {
			one, err := l.readFile(path, in)
			if err != nil {
				return err
			}
			all = append(all, one)
		}
	}
	for _, one := range all {
		l.lintFile(one)
	}
	if err := format.Print(out, "LintReport", l.report, l.printText); err != nil {
		return err
	}
	if l.Refused > 0 {
		return ErrRefused
	}
	return nil
}

func (l *linter) readFile(path string, in io.Reader) (file, error) {
	text, err := io.ReadAll(in)
	if path != "-" {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return file{}, err
	}
	objects, wrong := load.ReadObjects(path, text)
	for _, object := range objects {
		rrtype, _, _ := unstructured.NestedString(object.Object, "spec", "type")
		l.answered[v1alpha1.ReasonNoNameServers] = l.answered[v1alpha1.ReasonNoNameServers] || rrtype == "NS"
		l.written.AddObject(object)
		domainName, _, _ := unstructured.NestedString(object.Object, "spec", "domainName")
		if fqdn, err := name.Parse(domainName); err == nil && object.GetKind() == "Zone" {
			namespace := cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)
			l.zones[types.NamespacedName{Namespace: namespace, Name: object.GetName()}] = fqdn
		}
		l.answered[v1alpha1.WarningNoRules] = l.answered[v1alpha1.WarningNoRules] || object.GetKind() == "Delegation"
	}
	return file{path, objects, wrong}, nil
}

func (l *linter) lintFile(one file) {
	for _, refusal := range one.wrong {
		l.Judged, l.Refused = l.Judged+1, l.Refused+1
		l.Findings = append(l.Findings, finding{"error", "", refusal.String()})
	}
	for _, object := range one.objects {
		judge := judges[object.GetKind()]
		if object.GroupVersionKind().Group != v1alpha1.GroupName || judge == nil {
			l.PassedOver++
			continue
		}
		l.Judged++
		errs, warnings := l.judgeObject(object, judge)
		if l.Warnings += len(warnings); len(errs) > 0 {
			l.Refused++
		}
		at := fmt.Sprintf("%s: %s %s", one.path, strings.ToLower(object.GetKind()), object.GetName())
		for _, text := range errs {
			l.Findings = append(l.Findings, finding{"error", at, text})
		}
		for _, text := range warnings {
			l.Findings = append(l.Findings, finding{"warning", at, text})
		}
	}
}

// judgeObject validates as in a creation, in namespace default if the object has none.
func (l *linter) judgeObject(object *unstructured.Unstructured, judge func(runtime.Object) (field.ErrorList, []string)) (errs,
	warnings []string) {
	if object.GetNamespace() == "" && object.GetKind() != "DNSClass" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return []string{err.Error()}, nil
	}
	decoded, _, err := l.decoder.Decode(text, nil, nil)
	if err != nil {
		return []string{err.Error()}, nil
	}
	wrong, warnings := judge(decoded)
	for _, one := range wrong {
		errs = append(errs, one.Error())
	}
	if len(errs) > 0 {
		return errs, nil // as the server, which only warns about accepted objects
	}
	switch decoded := decoded.(type) {
	case *v1alpha1.Zone:
		lacks := validation.BareZoneWarnings(decoded)
		for _, reason := range slices.Sorted(maps.Keys(lacks)) {
			if !l.answered[reason] {
				warnings = append(warnings, lacks[reason])
			}
		}
	case *v1alpha1.Delegation:
		warnings = append(warnings, l.warnOfPatterns(decoded)...)
	case *v1alpha1.Record:
		warnings = append(warnings, l.warnOfDots(object, decoded)...)
	}
	return nil, warnings
}

func (l *linter) warnOfPatterns(of *v1alpha1.Delegation) (warnings []string) {
	zone := l.zones[types.NamespacedName{Namespace: of.Namespace, Name: of.Spec.ZoneRef.Name}]
	texts := slices.Clone(of.Spec.Zones)
	for _, r := range of.Spec.Records {
		texts = append(texts, r.Pattern)
	}
	for _, text := range texts {
		if p, err := pattern.Parse(text); err == nil && !zone.IsZero() && p.Warning(zone) != "" {
			warnings = append(warnings, refusal.Warning("S4.6", p.Warning(zone)))
		}
	}
	return warnings
}

func (l *linter) zoneOf(of *v1alpha1.Record) (zone name.Name) {
	if ref := of.Spec.ZoneRef; ref != nil {
		return l.zones[types.NamespacedName{Namespace: cmp.Or(ref.Namespace, of.Namespace), Name: ref.Name}]
	}
	fqdn, _ := name.Parse(of.Spec.DomainName)
	for _, other := range l.zones {
		if other.Encloses(fqdn) && (zone.IsZero() || zone.Encloses(other)) {
			zone = other
		}
	}
	return zone
}

type text string

func (t text) String() string { return string(t) }

// warnOfDots returns the server's warnings about a missing final dot of an owner or host. If the files lack the zone,
// the last two labels of an absolute owner serve as its name.
func (l *linter) warnOfDots(object *unstructured.Unstructured, of *v1alpha1.Record) (warnings []string) {
	owner, zone := of.Spec.DomainName, l.zoneOf(of)
	in := cmp.Or(zone, name.Root)
	if fqdn, err := name.Parse(owner); err == nil && zone.IsZero() {
		for in = fqdn; in.NumLabels() > 2; {
			in, _ = in.Parent()
		}
	}
	fqdn, err := name.ParseIn(owner, in)
	at, ok := fqdn.Rel(in)
	if err != nil || !ok {
		return nil
	}
	if !zone.IsZero() && !name.IsAbsolute(owner) && records.RepeatsOrigin(at, zone) {
		warnings = append(warnings, refusal.Warning("S1.1", records.UndottedWarning("spec.domainName:", owner, fqdn)))
	}
	for _, host := range load.HostsOf(object) {
		written, err := name.ParseRel(host)
		if err != nil || !records.RepeatsOrigin(written, in) && (l.written.Have(host) || !records.SeemsUndotted(host, at)) {
			continue
		}
		what, means := owner, text(host+" below its zone's name")
		if !zone.IsZero() {
			what, means = fqdn.String(), text(host+"."+strings.TrimPrefix(zone.String(), "."))
		}
		return append(warnings, refusal.Warning("S5.1", records.UndottedWarning(fmt.Sprintf("%s at %s names a host:",
			strings.ToUpper(of.Spec.Type), what), host, means)))
	}
	return warnings
}
