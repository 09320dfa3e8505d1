package control

import "context"

// The first byte of a question to another node: what it is about.
const (
	aboutFiles  byte = 'f' // for copies.Copies
	aboutOutput byte = 'o' // the output of a process, see outputRequest
)

// A topic is the other nodes, for questions that begin with a byte.
type topic struct {
	Cluster
	about byte
}

// AskNode has another node answer a question.
func (t topic) AskNode(ctx context.Context, node string, question []byte) (answer []byte, err error) {
	return t.Cluster.AskNode(ctx, node, append([]byte{t.about}, question...))
}

// AnswerNode answers a question of another node. It is empty if this node cannot read the question.
func (p *Plane) AnswerNode(ctx context.Context, question []byte) (answer []byte) {
	switch {
	case len(question) == 0:
	case question[0] == aboutFiles && p.copies != nil:
		return p.copies.Answer(ctx, question[1:])
	case question[0] == aboutOutput:
		return p.answerOutput(ctx, question[1:])
	}
	return nil
}
