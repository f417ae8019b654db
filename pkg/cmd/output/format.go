// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Forms of -o that most commands have. Wide has more columns, and is never wrapped.
const (
	Plain    = "text"
	Wide     = "wide"
	JSON     = "json"
	YAML     = "yaml"
	Markdown = "markdown"
)

// Version is the apiVersion of JSON and YAML documents. A field that programs read goes with a new version only.
const Version = "client.kubi.zone/v1alpha1"

// Format is the flag -o.
type Format struct {
	form  string
	forms []string
}

// AddFormat adds the flag -o to a command. forms are those of the command besides text, wide, json and yaml; the first
// of all is the default.
func AddFormat(command *cobra.Command, further ...string) *Format {
	f := &Format{form: Plain, forms: append([]string{Plain, Wide, JSON, YAML}, further...)}
	command.Flags().StringVarP(&f.form, "output", "o", f.form, strings.Join(f.forms[:len(f.forms)-1], ", ")+" or "+f.forms[len(f.forms)-1])
	utilruntime.Must(command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(f.forms, cobra.ShellCompDirectiveNoFileComp)))
	command.PreRunE = func(*cobra.Command, []string) error { return f.check() }
	return f
}

func (f *Format) check() error {
	if !slices.Contains(f.forms, f.form) {
		return fmt.Errorf("-o %q: write one of %s", f.form, strings.Join(f.forms, ", "))
	}
	return nil
}

// Is reports whether the user asked for a form.
func (f *Format) Is(form string) bool { return f.form == form }

// IsDocument reports whether the user asked for JSON or YAML.
func (f *Format) IsDocument() bool { return f.form == JSON || f.form == YAML }

// Print writes a result, an object of JSON, as a document of a kind, or by the function text.
func (f *Format) Print(out io.Writer, kind string, result any, text func(*Text)) error {
	if f.IsDocument() {
		return f.printDocument(out, kind, result)
	}
	page := NewText(out)
	if f.form == Wide {
		page.screen.Width, page.wide = 0, true
	}
	text(page)
	_, err := page.WriteTo(out)
	return err
}

func (f *Format) printDocument(out io.Writer, kind string, result any) error {
	fields, err := json.Marshal(result)
	if err != nil {
		return err
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, Version, kind)
	if !bytes.Equal(fields, []byte("{}")) {
		head += ","
	}
	document := append([]byte(head), fields[1:]...)
	if f.form == YAML {
		content, err := readNode(json.NewDecoder(bytes.NewReader(document)))
		if err != nil {
			return err
		}
		return EncodeYAML(out, content)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		return err
	}
	_, err = out.Write(append(indented.Bytes(), '\n'))
	return err
}

// readNode reads a value of JSON with the order of its fields. JSON may have characters that YAML has to escape.
func readNode(from *json.Decoder) (*yaml.Node, error) {
	from.UseNumber()
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{}
	switch token {
	case json.Delim('{'):
		node.Kind = yaml.MappingNode
	case json.Delim('['):
		node.Kind = yaml.SequenceNode
	default:
		if number, ok := token.(json.Number); ok {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: number.String()}, nil
		}
		return node, node.Encode(token)
	}
	for from.More() {
		part, err := readNode(from)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, part)
	}
	_, err = from.Token() // the end
	return node, err
}

// EncodeYAML writes a document. It double-quotes strings with characters that terminal.NewWriter escapes, as the
// escapes are valid YAML there.
func EncodeYAML(out io.Writer, document *yaml.Node) error {
	quoteTexts(document)
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	return errors.Join(encoder.Encode(document), encoder.Close())
}

func quoteTexts(node *yaml.Node) {
	if strings.ContainsFunc(node.Value, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, part := range node.Content {
		quoteTexts(part)
	}
}
