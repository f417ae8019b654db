// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/decoding"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/client/load"
)

type Report struct {
	Findings   []Finding `json:"findings"`
	Judged     int       `json:"judged"`
	Refused    int       `json:"refused"`
	Warnings   int       `json:"warnings"`
	PassedOver int       `json:"passedOver"`
}

type Finding struct {
	Severity string `json:"severity"`
	// Object is a file, with kind and name; "" if Text has them.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

func (f Finding) String() string {
	if f.Object == "" {
		return f.Severity + ": " + f.Text
	}
	return f.Severity + ": " + f.Object + ": " + f.Text
}

func (r *Report) String() string {
	return fmt.Sprintf("%d objects judged: %d refused, %d warnings; %d of other kinds passed over", r.Judged, r.Refused, r.Warnings,
		r.PassedOver)
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
	Report
	decoder runtime.Decoder
	objects []*judged
}

func newLinter() *linter {
	registry := install.New()
	info, _ := runtime.SerializerInfoForMediaType(registry.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoders := decoding.Serializer{NegotiatedSerializer: registry.Codecs, Creater: registry.Scheme}
	return &linter{decoder: decoders.DecoderToVersion(info.StrictSerializer, install.InternalGroupVersion)}
}

// Refusals returns the reason why a server with these objects and no others refuses each, or "". Of an object that is
// wrong by itself the reason is "", because every server says it.
func Refusals(objects []*unstructured.Unstructured) []string {
	l, reasons := newLinter(), make([]string, len(objects))
	indices := make(map[*judged]int, len(objects))
	for i, object := range objects {
		judge := judges[object.GetKind()]
		if object.GroupVersionKind().Group != v1alpha1.GroupName || judge == nil {
			continue
		}
		// An object that is wrong by itself is left out of the set, as no server has such an object.
		if one := l.judgeAlone("", object, judge); len(one.errs) == 0 {
			l.objects, indices[one] = append(l.objects, one), i
		}
	}
	judgeSet(l.objects)
	for one, i := range indices {
		reasons[i] = strings.Join(append(one.errs, one.forbidden...), "; ")
	}
	return reasons
}

// JudgeFiles judges the manifests in files and directories, "-" is in. An error means that a file could not be read.
// Refused objects are in the Report.
func JudgeFiles(files []string, in io.Reader) (*Report, error) {
	l := newLinter()
	reader := &load.Confined{}
	for _, file := range files {
		_, err := reader.EachManifest(file, in, func(path string, read func() ([]byte, error)) error {
			text, err := read()
			if err == nil {
				l.addObjects(path, text)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	judgeSet(l.objects)
	l.countFindings()
	return &l.Report, nil
}

// addObjects judges each object of a text alone. Objects of other groups and kinds are counted as passed over.
func (l *linter) addObjects(path string, text []byte) {
	objects, wrong := load.ReadObjects(path, text)
	for _, refusal := range wrong {
		// A document that is no object is refused too, and the text names the file.
		l.objects = append(l.objects, &judged{verdict: verdict{errs: []string{refusal.String()}}})
	}
	for _, object := range objects {
		if reason, fix := load.UnknownKind(object); reason != "" {
			l.objects = append(l.objects, &judged{source: sourceOf(path, object), verdict: verdict{errs: []string{reason + "; " + fix}}})
			continue
		}
		judge := judges[object.GetKind()]
		if object.GroupVersionKind().Group != v1alpha1.GroupName || judge == nil {
			l.PassedOver++
			continue
		}
		l.objects = append(l.objects, l.judgeAlone(path, object, judge))
	}
}

func sourceOf(path string, object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s: %s %s", path, strings.ToLower(object.GetKind()), object.GetName())
}

// judgeAlone judges an object without the other objects. The result has no object if the text does not decode.
func (l *linter) judgeAlone(path string, object *unstructured.Unstructured, judge func(runtime.Object) (field.ErrorList,
	[]string)) *judged {
	// kubectl would take the namespace of the context. All such objects get the same.
	if object.GetNamespace() == "" && object.GetKind() != "DNSClass" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	result := &judged{source: sourceOf(path, object),
		id: fmt.Sprint(object.GetKind(), " ", object.GetNamespace(), "/", object.GetName())}
	text, err := object.MarshalJSON()
	if err == nil {
		result.object, _, err = l.decoder.Decode(text, nil, nil)
	}
	if err != nil {
		result.object, result.errs = nil, []string{err.Error()}
		return result
	}
	wrong, warnings := judge(result.object)
	for _, fault := range wrong {
		result.errs = append(result.errs, fault.Error())
	}
	if len(wrong) == 0 { // the server only warns about accepted objects
		result.warnings = warnings
	}
	return result
}

// countFindings fills the Report from the verdicts. A refused object has no warnings, as at a server.
func (l *linter) countFindings() {
	l.Findings, l.Judged = []Finding{}, len(l.objects)
	for _, one := range l.objects {
		if len(one.errs) > 0 {
			l.Refused++
			one.warnings = nil
		}
		l.Warnings += len(one.warnings)
		for _, text := range one.errs {
			l.Findings = append(l.Findings, Finding{"error", one.source, text})
		}
		for _, text := range one.warnings {
			l.Findings = append(l.Findings, Finding{"warning", one.source, text})
		}
	}
}
