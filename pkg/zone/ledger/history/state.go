// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// MaxState bounds an object's packed state, MaxStepStates a step's.
	MaxState      = 8 << 10
	MaxStepStates = 48 << 10
	// States up to plainState octets are not compressed, because segments are.
	plainState = 1 << 10
	// A state counts at least as a rawParts-th of its JSON, to bound the JSON.
	rawParts = 4
	// maxUnpacked bounds a decompressed state. Stored objects have up to 96 KiB, older ones 512 KiB.
	maxUnpacked = 1 << 20
)

type State struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Spec        json.RawMessage   `json:"spec,omitempty"`
	// LeftOut names the parts beyond MaxState.
	LeftOut []string `json:"leftOut,omitempty"`
	// Managers are the field managers of a Record's spec.
	Managers []v1alpha1.HistoryManager `json:"managers,omitempty"`
}

// Parts of a State. PartRData or PartValues is the Record's field with values, left out only if the step's rows have
// the values.
const (
	PartAnnotations = "annotations"
	PartLabels      = "labels"
	PartRData       = "rdata"
	PartValues      = "values"
	PartSpec        = "spec"
)

const (
	isPlain   = "p" // JSON follows
	isDeflate = "d" // deflated JSON follows
)

type Packed struct {
	Text []byte
	// Counts is the number of octets that count towards MaxStepStates.
	Counts int
	Whole  bool // nothing is left out
	NoSpec bool // the spec is left out, and all else with it
}

// Pack encodes an object's labels, annotations and spec for the history. While Packed.Counts exceeds the limit, Pack
// leaves out a part, in the order annotations, labels, spec, and names the part in State.LeftOut.
func Pack(o metav1.Object, spec any, limit int) (Packed, error) {
	return packFirst(o, spec, nil, limit)
}

// PackRecord is like Pack, with the field managers of the spec. If inRows is true, since the rows of the step have the
// Record's values, the values are left out before the labels and the spec: with 100 keys of 900 octets in a change set,
// the names of the keys fit.
func PackRecord(r *v1alpha1.Record, inRows bool, limit int) (Packed, error) {
	if !inRows {
		return packFirst(r, &r.Spec, nil, limit)
	}
	// The rows of the step can give the values back.
	short := r.Spec
	short.RData, short.Values = "", nil
	return packFirst(r, &r.Spec, &short, limit)
}

// PackSpec is like PackRecord, without annotations.
func PackSpec(r *v1alpha1.Record, limit int) (packed Packed, err error) {
	s := State{Labels: r.Labels, Annotations: r.Annotations, Managers: managersOf(r)}
	if s.Spec, err = json.Marshal(&r.Spec); err != nil {
		return Packed{}, err
	}
	if err = s.leaveOut([]string{PartAnnotations}, &r.Spec, nil); err == nil {
		packed, err = s.pack()
	}
	packed.NoSpec = packed.Counts > limit
	return packed, err
}

// packFirst packs the first form of the object that fits into the limit. The last has no part.
func packFirst(o metav1.Object, spec any, short *v1alpha1.RecordSpec, limit int) (packed Packed, err error) {
	whole := State{Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
	if whole.Spec, err = json.Marshal(spec); err != nil {
		return Packed{}, err
	}
	if r, ok := o.(*v1alpha1.Record); ok {
		whole.Managers = managersOf(r)
	}
	forms := [][]string{nil, {PartAnnotations}, {PartAnnotations, PartLabels}, {PartAnnotations, PartLabels, PartSpec}}
	if short != nil {
		forms = slices.Insert(forms, 3, []string{PartAnnotations, PartValues}, []string{PartAnnotations, PartLabels, PartValues})
	}
	for _, parts := range forms {
		s := whole
		if err := s.leaveOut(parts, spec, short); err != nil {
			return Packed{}, err
		}
		// The limit is for the packed text, so each form is packed before the choice.
		if packed, err = s.pack(); err != nil || packed.Counts <= limit {
			packed.NoSpec = s.Spec == nil
			return packed, err
		}
	}
	packed.NoSpec = true
	return packed, nil
}

// leaveOut removes parts, and names those that the object has.
func (s *State) leaveOut(parts []string, spec any, short *v1alpha1.RecordSpec) (err error) {
	for _, part := range parts {
		switch {
		case part == PartAnnotations && len(s.Annotations) > 0:
			s.Annotations = nil
		case part == PartLabels && len(s.Labels) > 0:
			s.Labels = nil
		case part == PartSpec:
			s.Spec, s.Managers = nil, nil
		case part == PartValues:
			// A Record has rdata or values, never both.
			if whole, ok := spec.(*v1alpha1.RecordSpec); ok && whole.RData != "" {
				part = PartRData
			}
			if s.Spec, err = json.Marshal(short); err != nil {
				return err
			}
		default:
			continue
		}
		s.LeftOut = append(s.LeftOut, part)
	}
	return nil
}

// managersOf returns the managers with fields of the spec, in the order of managedFields.
func managersOf(r *v1alpha1.Record) (managers []v1alpha1.HistoryManager) {
	for i := range r.ManagedFields {
		e := &r.ManagedFields[i]
		if e.Subresource == "" && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			managers = append(managers, v1alpha1.HistoryManager{Name: e.Manager, Operation: string(e.Operation)})
		}
	}
	return managers
}

func (s *State) pack() (Packed, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return Packed{}, err
	}
	// Short texts stay plain here, and are compressed later together with their segment.
	packed := append([]byte(isPlain), text...)
	if len(text) > plainState {
		packed = deflate([]byte(isDeflate), text)
	}
	return Packed{Text: packed, Counts: max(len(packed), len(text)/rawParts), Whole: len(s.LeftOut) == 0}, nil
}

// Unpack returns the JSON of a packed State, or an error for damage.
func Unpack(packed []byte) (text json.RawMessage, err error) {
	switch form := packed[:min(1, len(packed))]; string(form) {
	case isPlain:
		text = packed[1:]
	case isDeflate:
		text, err = inflate(packed[1:], maxUnpacked)
	default:
		err = fmt.Errorf("the state begins with %.1q", packed)
	}
	if err == nil && !json.Valid(text) {
		err = errors.New("the state is no JSON")
	}
	return text, err
}

// dictionary is the text of usual states and steps. A change requires another segmentVersion, and another first octet
// of states.
var dictionary = []byte(strings.Join([]string{
	`"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"kubi.zone/v1alpha1\",\"kind\":\"Record\",`,
	`\"metadata\":{\"annotations\":{},\"name\":\"\",\"namespace\":\"\"},\"spec\":{\"domainName\":\"\",\"rdata\":\"\",\"ttl\":300,`,
	`\"type\":\"\",\"zoneRef\":{\"name\":\"\"}}}\n"}},"labels":{"app.kubernetes.io/managed-by":"kubi.zone/dynamic":"true"},`,
	`"annotations":{"kubi.zone/on-conflict":"wait"},"spec":{"zoneRef":{"name":"","namespace":"","values":["2001:db8::"`,
	`"v=spf1 include:","ttl":300,"domainName":"","type":"AAAA","type":"CNAME","type":"MX","type":"TXT","rdata":"192.0.2.10.0.0."}},`,
	`"w":[{"r":"","u":"","s":{"spec":{"domainName":"_acme-challenge.","type":"A","rdata":"192.0.2."}}]}` + "\n",
	`{"s":{"n":,"f":,"s":,"r":[{"o":"www","t":1,"d":"192.0.2.1"}],"a":[{"o":"","t":16,"d":""}],`,
	`"t":[{"o":"www","t":1,"b":"300","a":"inherit"}],"rec":{"ns":"default","n":"","u":"","w":true,"l":true},`,
	`"by":"system:serviceaccount:kubi.zone:updatekey:system:admin","fm":"kubectl-client-side-apply",`,
	`"id":"0123456789abcdef-4","why":"zone was made","wns":"","at":17`,
}, ""))

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriterDict(io.Discard, 6, dictionary)
	if err != nil {
		panic(err) // the level is constant
	}
	return w
}}

func deflate(out, text []byte) []byte {
	buf := bytes.NewBuffer(out)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(buf)
	_, _ = w.Write(text) // a bytes.Buffer does not fail
	_ = w.Close()
	return buf.Bytes()
}

func inflate(data []byte, most int) ([]byte, error) {
	// One octet beyond the limit tells an excess from a text of just that length.
	r := flate.NewReaderDict(bytes.NewReader(data), dictionary)
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > most:
		return nil, fmt.Errorf("the text has more than %d octets", most)
	}
	return text, nil
}
