package trace

// Of returns the batch's rows of a table.
func (b *Batch) Of(table *Table) AnyRows {
	return table.rows.in(b, table.place)
}

// Append copies the rows of another batch.
func (b *Batch) Append(from *Batch) {
	for _, table := range registry {
		if rows := from.Of(table); rows.Len() > 0 {
			b.Of(table).append(rows)
		}
	}
}

// Reset empties the batch, to be filled again in the same memory.
func (b *Batch) Reset() {
	for _, table := range registry {
		b.Of(table).reset()
	}
}
