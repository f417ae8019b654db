// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/decoding"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/terminal"
)

// ErrRefused is the error of files with an object that a server refuses.
var ErrRefused = errors.New("a server refuses what is marked as error above")

// NewCommand is the sub-command.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE...",
		Short: "judge manifests without a server",
		Long: `Judge the Zones, Records, Delegations, DNSClasses and UpdateKeys of manifests (.yaml, .yml, .json, directories of them, or -)
each by itself, as the server does: errors and warnings in its words. Objects of other kinds are passed over. What rests on
other objects (rules, claims, what stands at a name) says kubizone plan. The exit code is 1 for an error.`,
		Example: "  kubizone lint records.yaml zones/\n  kustomize build . | kubizone lint -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			return lintFiles(files, command.InOrStdin(), command.OutOrStdout())
		},
	}
}

// judges has the kinds that are judged, each by what the server calls.
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

// linter judges the objects of files.
type linter struct {
	decoder          runtime.Decoder
	out              io.Writer
	judged, refused  int
	warnings, passed int
	// answered has the reasons of warnings that some object of the files answers for zones.
	answered map[string]bool
}

// file is a file with its objects, and what of it cannot be read.
type file struct {
	path    string
	objects []*unstructured.Unstructured
	wrong   []load.Refusal
}

// lintFiles judges all, and prints what is wrong.
func lintFiles(files []string, in io.Reader, out io.Writer) error {
	registry := install.New()
	info, _ := runtime.SerializerInfoForMediaType(registry.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoders := decoding.Serializer{NegotiatedSerializer: registry.Codecs, Creater: registry.Scheme}
	l := &linter{decoder: decoders.DecoderToVersion(info.StrictSerializer, install.InternalGroupVersion), out: out,
		answered: map[string]bool{}}
	var all []file
	for _, file := range files {
		paths := []string{file}
		if file != "-" {
			found, err := load.Source{Path: file}.Files()
			if err != nil {
				return err
			}
			if paths = found.Manifests; len(paths) == 0 {
				return fmt.Errorf("%s: no manifest (.yaml, .yml, .json); kubizone plan judges zone files", file)
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
	if _, err := terminal.Fprintf(out, "%d objects judged: %d refused, %d warnings; %d of other kinds passed over\n", l.judged, l.refused,
		l.warnings, l.passed); err != nil {
		return err
	}
	if l.refused > 0 {
		return ErrRefused
	}
	return nil
}

// readFile reads a file, and notes what its objects may answer.
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
		l.answered[v1alpha1.WarningNoRules] = l.answered[v1alpha1.WarningNoRules] || object.GetKind() == "Delegation"
	}
	return file{path, objects, wrong}, nil
}

func (l *linter) lintFile(one file) {
	for _, refusal := range one.wrong {
		l.judged, l.refused = l.judged+1, l.refused+1
		terminal.Fprintf(l.out, "error: %s\n", refusal)
	}
	for _, object := range one.objects {
		judge := judges[object.GetKind()]
		if object.GroupVersionKind().Group != v1alpha1.GroupName || judge == nil {
			l.passed++
			continue
		}
		l.judged++
		errs, warnings := l.judgeObject(object, judge)
		if l.warnings += len(warnings); len(errs) > 0 {
			l.refused++
		}
		at := fmt.Sprintf("%s: %s %s", one.path, strings.ToLower(object.GetKind()), object.GetName())
		for _, text := range errs {
			terminal.Fprintf(l.out, "error: %s: %s\n", at, text)
		}
		for _, text := range warnings {
			terminal.Fprintf(l.out, "warning: %s: %s\n", at, text)
		}
	}
}

// judgeObject judges one object as it would be created. A namespace that is not given is that of the client.
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
		return errs, nil // as the server, which warns of what it takes
	}
	if zone, ok := decoded.(*v1alpha1.Zone); ok {
		lacks := validation.BareZoneWarnings(zone)
		for _, reason := range slices.Sorted(maps.Keys(lacks)) {
			if !l.answered[reason] {
				warnings = append(warnings, lacks[reason])
			}
		}
	}
	return nil, warnings
}
