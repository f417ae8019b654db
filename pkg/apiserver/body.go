// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Limits of a request body. Within the generic apiserver's limits, 3 MiB and 10,000 levels and operations,
// decoding may take minutes and gigabytes.
const (
	// maxBody, in octets, is over five times the largest stored object (96 KiB), because JSON may escape an octet by
	// six.
	maxBody       = 512 << 10
	maxDepth      = 64
	maxOperations = 1000
	maxEntries    = 10_000
)

// checkBodies bounds the body of each request for a resource (S5.12), and keeps the text of patches, so that kind can
// name a wrong field.
func checkBodies(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || r.Body == nil || r.Body == http.NoBody {
			handler.ServeHTTP(w, r)
			return
		}

		contentType := r.Header.Get("Content-Type")
		// Only controllers write Deliveries, and validation bounds their lists, so their JSON needs no limit.
		if body := boundBody(r.Body, info.Resource, contentType); body.isYAML || info.Resource != "deliveries" {
			r.Body = body
		}

		if info.Verb == "patch" && info.Subresource != "scale" { // the body is a Scale
			r = kind.KeepPatch(r, types.PatchType(mediaOf(contentType)))
		}
		handler.ServeHTTP(w, r)
	})
}

// boundedBody is a request body whose Read fails beyond the limits. YAML is checked whole at the first Read.
type boundedBody struct {
	io.ReadCloser
	what        string // resource
	remaining   int
	isJSON      bool
	isJSONPatch bool
	scanner     jsonPlace
	isYAML      bool
	whole       io.Reader // YAML
	refusal     error
}

// boundBody returns body with the checks for its media type. Of Protobuf only the size is checked.
func boundBody(body io.ReadCloser, resource, contentType string) *boundedBody {
	b := &boundedBody{ReadCloser: body, what: resource, remaining: maxBody}
	switch mediaOf(contentType) {
	case runtime.ContentTypeProtobuf: // decoded once, in linear time
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		b.isYAML = true
	case string(types.JSONPatchType):
		b.isJSON, b.isJSONPatch = true, true
	default:
		b.isJSON = true
	}
	return b
}

func mediaOf(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// Read reads a piece of the body, and fails as soon as a limit is exceeded, before the generic apiserver decodes more.
func (b *boundedBody) Read(into []byte) (int, error) {
	if b.isYAML {
		if b.whole == nil && b.refusal == nil {
			b.readWhole()
		}
		if b.refusal != nil {
			return 0, b.refusal
		}
		return b.whole.Read(into)
	}
	n, err := b.ReadCloser.Read(into)
	if wrong := b.checkPiece(into[:n]); wrong != nil {
		return n, wrong
	}
	return n, err
}

// checkPiece returns an error if the body, up to the end of piece, exceeds a limit.
func (b *boundedBody) checkPiece(piece []byte) error {
	if b.remaining -= len(piece); b.remaining < 0 {
		return b.tooLarge()
	}
	if !b.isJSON {
		return nil
	}
	b.scanner.passPiece(piece)
	if b.scanner.deepest > maxDepth {
		return b.tooDeep()
	}
	if b.scanner.largest > maxEntries {
		return b.tooMany()
	}
	if b.isJSONPatch && b.scanner.items > maxOperations {
		return refusal.ByRule("S5.12", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a JSON patch of %s has at most %d "+
			"operations (S5.12): replace the whole field, or send several patches", b.what, maxOperations)))
	}
	return nil
}

func checkItem(text []byte) error {
	return boundBody(nil, "records", runtime.ContentTypeJSON).checkPiece(text)
}

// readWhole reads and checks a YAML body, and sets refusal or whole.
func (b *boundedBody) readWhole() {
	// One octet more than the limit shows that the body is too large.
	text, err := io.ReadAll(io.LimitReader(b.ReadCloser, maxBody+1))
	var document yaml.Node
	switch {
	case err != nil:
		b.refusal = err
	case len(text) > maxBody:
		b.refusal = b.tooLarge()
	default:
		// A yaml.Node keeps aliases unexpanded. Expanded, 61 KB became 3.6 GiB.
		if err := yaml.Unmarshal(text, &document); err != nil {
			b.refusal = apierrors.NewBadRequest(fmt.Sprintf("a write of %s cannot be read: %v", b.what, err))
		} else {
			b.refusal = b.checkNode(&document, 0)
		}
	}
	b.whole = bytes.NewReader(text)
}

// checkNode checks a YAML node and all nodes below. The depth ends the recursion.
func (b *boundedBody) checkNode(node *yaml.Node, depth int) error {
	switch node.Kind {
	case yaml.AliasNode:
		return refusal.ByRule("S5.12", apierrors.NewBadRequest(fmt.Sprintf("a write of %s cannot be read: line %d has the alias *%s; "+
			"aliases are not taken (S5.12): write the value out", b.what, node.Line, node.Value)))
	case yaml.MappingNode, yaml.SequenceNode:
		if depth > maxDepth {
			return b.tooDeep()
		}
		// A mapping has keys and values in turn.
		entries := len(node.Content)
		if node.Kind == yaml.MappingNode {
			entries /= 2
		}
		if entries > maxEntries {
			return b.tooMany()
		}
	}
	for _, child := range node.Content {
		if err := b.checkNode(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *boundedBody) tooLarge() error {
	return refusal.ByRule("S5.12", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a write of %s has at most %d KiB as it is "+
		"sent (S5.12): write several objects, or leave out managedFields and status", b.what, maxBody>>10)))
}
func (b *boundedBody) tooDeep() error {
	return refusal.ByRule("S5.12", apierrors.NewBadRequest(fmt.Sprintf("a write of %s cannot be read: lists and objects in it are "+
		"nested deeper than %d levels (S5.12): no field needs more than 20", b.what, maxDepth)))
}
func (b *boundedBody) tooMany() error {
	return refusal.ByRule("S5.12", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a list or object in a write of %s has at most "+
		"%d entries (S5.12): no field takes more than a tenth of that; leave out labels and annotations", b.what, maxEntries)))
}

type jsonPlace struct {
	depth, deepest int
	// items counts objects and lists in the outermost value, for example the operations of a JSON patch.
	items           int
	inText, escaped bool // in a string; after a backslash
	// commas counts, by depth, the commas in the open list or object.
	commas  [maxDepth + 1]int
	largest int
}

func (p *jsonPlace) countsCommas() bool { return p.depth > 0 && p.depth <= maxDepth }

// passPiece goes on through JSON, octet by octet, whether the JSON is valid or not: a decoder that follows reports
// faults. Nothing is allocated.
func (p *jsonPlace) passPiece(piece []byte) {
	for _, c := range piece {
		switch {
		case p.escaped:
			p.escaped = false
		case c == '\\':
			p.escaped = p.inText
		case c == '"':
			p.inText = !p.inText
		case p.inText:
		case c == '{' || c == '[':
			if p.depth == 1 {
				p.items++
			}
			p.depth++
			p.deepest = max(p.deepest, p.depth)
			if p.countsCommas() {
				p.commas[p.depth] = 0
			}
		// A list has one entry more than commas. Deeper than maxDepth the body is refused anyway.
		case c == ',' && p.countsCommas():
			p.commas[p.depth]++
			p.largest = max(p.largest, p.commas[p.depth]+1)
		case c == '}' || c == ']':
			p.depth--
		}
	}
}
