import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.synonym.SolrSynonymParser;
import org.apache.lucene.analysis.synonym.SynonymGraphFilter;
import org.apache.lucene.analysis.synonym.SynonymMap;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;
import org.apache.lucene.util.QueryBuilder;

/**
 * A search with synonyms at query time: `LuceneSearch SYNONYMS TEXTS QUERIES`. One line a query
 * with the numbers of the texts that it finds, or `refused` if the synonyms cannot be read.
 */
public class LuceneSearch {
    public static void main(String[] files) throws IOException {
        Analyzer plain = analyzer(null);
        SolrSynonymParser parser = new SolrSynonymParser(true, true, plain);
        try {
            parser.parse(Files.newBufferedReader(Path.of(files[0])));
        } catch (ParseException refused) {
            System.out.println("refused");
            return;
        }
        QueryBuilder queries = new QueryBuilder(analyzer(parser.build()));
        queries.setAutoGenerateMultiTermSynonymsPhraseQuery(true); // as Elasticsearch has it
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(index(lines(files[1]), plain)));
        for (String text : lines(files[2])) {
            Query query = queries.createBooleanQuery("text", text, Occur.MUST);
            StringBuilder found = new StringBuilder();
            for (ScoreDoc hit : searcher.search(query, 1000).scoreDocs) {
                found.append(hit.doc).append(' ');
            }
            System.out.println(found);
        }
    }

    static List<String> lines(String path) throws IOException {
        return Files.readAllLines(Path.of(path), StandardCharsets.UTF_8);
    }

    static Directory index(List<String> texts, Analyzer analyzer) throws IOException {
        Directory directory = new ByteBuffersDirectory();
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(analyzer))) {
            for (String text : texts) {
                Document document = new Document();
                document.add(new TextField("text", text, Field.Store.NO));
                writer.addDocument(document);
            }
        }
        return directory;
    }

    static Analyzer analyzer(SynonymMap synonyms) {
        return new Analyzer() {
            @Override
            protected TokenStreamComponents createComponents(String field) {
                Tokenizer words = new StandardTokenizer();
                TokenStream lower = new LowerCaseFilter(words);
                boolean none = synonyms == null;
                return new TokenStreamComponents(
                        words, none ? lower : new SynonymGraphFilter(lower, synonyms, true));
            }
        };
    }
}
