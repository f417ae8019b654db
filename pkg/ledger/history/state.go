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
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
}

// Parts of a State, in the order of omission.
const (
	PartAnnotations = "annotations"
	PartLabels      = "labels"
	PartSpec        = "spec"
)

const (
	isPlain   = 'p' // JSON follows
	isDeflate = 'd' // deflated JSON follows
)

type Packed struct {
	Text []byte
	// Counts is the number of octets that count towards MaxStepStates.
	Counts int
}

// Pack encodes an object's labels, annotations and spec for the history. While Packed.Counts exceeds the limit, Pack
// leaves out a part, in the order annotations, labels, spec, and names the part in State.LeftOut.
func Pack(o metav1.Object, spec any, limit int) (Packed, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return Packed{}, err
	}
	s := State{Labels: o.GetLabels(), Annotations: o.GetAnnotations(), Spec: text}
	for {
		packed, err := s.pack()
		if err != nil || packed.Counts <= limit {
			return packed, err
		}

		switch {
		case len(s.Annotations) > 0:
			s.Annotations, s.LeftOut = nil, append(s.LeftOut, PartAnnotations)
		case len(s.Labels) > 0:
			s.Labels, s.LeftOut = nil, append(s.LeftOut, PartLabels)
		case s.Spec != nil:
			s.Spec, s.LeftOut = nil, append(s.LeftOut, PartSpec)
		default:
			return packed, nil
		}
	}
}

func (s *State) pack() (Packed, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return Packed{}, err
	}
	packed := append([]byte{isPlain}, text...)
	if len(text) > plainState {
		packed = deflate([]byte{isDeflate}, text)
	}
	return Packed{packed, max(len(packed), len(text)/rawParts)}, nil
}

func Unpack(packed []byte) (json.RawMessage, error) {
	if len(packed) == 0 {
		return nil, errors.New("the state is empty")
	}
	switch packed[0] {
	case isPlain:
		return packed[1:], nil
	case isDeflate:
		return inflate(packed[1:], maxUnpacked)
	}
	return nil, fmt.Errorf("the state begins with %q", packed[0])
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
