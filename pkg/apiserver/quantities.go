// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"mime"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// costlyNumber matches the numbers that a quantity must not be made of: apimachinery reckons with every digit, so
// "1e-1000000000" keeps a processor busy for hours, and the memory of the server does not suffice for its digits.
var costlyNumber = regexp.MustCompile(`^[+-]?[0-9.]*([0-9.]{64}|[eE][+-]?[0-9]{5})`)

// maxFieldDepth bounds how deep fields of protobuf are followed; objects of bind9.kubi.zone have nine levels.
const maxFieldDepth = 24

// findCostlyNumber returns the first text or number of a body that is a costly number; empty for none. All texts are
// looked at, whichever field they are of: a field that is there twice is read twice.
func findCostlyNumber(body []byte, contentType string) (found string) {
	look := func(text string) {
		if found == "" && costlyNumber.MatchString(strings.TrimSpace(text)) {
			found = text
		}
	}
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case runtime.ContentTypeProtobuf:
		const magic = "k8s\x00"
		eachField(bytes.TrimPrefix(body, []byte(magic)), maxFieldDepth, func(value []byte) { look(string(value)) })
		return found
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return "" // The generic server does not read it either.
		}
		body = converted
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return found
		}
		switch token := token.(type) {
		case string:
			look(token)
		case json.Number:
			look(token.String())
		}
	}
}

// eachField calls visit with each value of a message of protobuf that has a length, and with those within it. A text
// may look like a message: what is visited then is a part of it. It takes what gogo's decoders take, whose numbers of
// fields lose their highest bits.
func eachField(message []byte, depth int, visit func([]byte)) {
	varint := func() (value uint64, ok bool) {
		for i := 0; i < len(message) && i < 10; i++ {
			value |= uint64(message[i]&0x7f) << (7 * i)
			if message[i] < 0x80 {
				message = message[i+1:]
				return value, true
			}
		}
		return 0, false
	}
	for {
		tag, ok := varint()
		length := uint64(0)
		switch {
		case !ok:
			return
		case tag&7 == 0:
			_, ok = varint()
		case tag&7 == 1:
			length = 8
		case tag&7 == 2:
			length, ok = varint()
		case tag&7 == 5:
			length = 4
		}
		if !ok || length > uint64(len(message)) {
			return
		}
		if value := message[:length]; tag&7 == 2 {
			visit(value)
			if depth > 0 {
				eachField(value, depth-1, visit)
			}
		}
		message = message[length:]
	}
}
