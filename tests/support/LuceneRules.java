import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.util.HexFormat;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.analysis.synonym.SolrSynonymParser;
import org.apache.lucene.util.CharsRef;

/**
 * What Lucene itself reads in files of synonyms. Each line of the input is such a file in hex; the
 * answer is one line a mapping (input, output, whether the input stays), then `done` or `refused`.
 */
public class LuceneRules {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String text = new String(HEX.parseHex(line), StandardCharsets.UTF_8);
            Listening parser = new Listening(out);
            try {
                parser.parse(new StringReader(text));
                parser.build();
                out.println("done");
            } catch (ParseException refused) {
                out.println("refused");
            }
        }
        out.flush();
    }

    static class Listening extends SolrSynonymParser {
        final PrintStream out;

        Listening(PrintStream out) {
            super(true, true, new KeywordAnalyzer()); // a term is one token, whatever it holds
            this.out = out;
        }

        @Override
        public void add(CharsRef input, CharsRef output, boolean includeOriginal) {
            out.println(hex(input) + " " + hex(output) + " " + includeOriginal);
            super.add(input, output, includeOriginal);
        }

        static String hex(CharsRef chars) {
            return HEX.formatHex(chars.toString().getBytes(StandardCharsets.UTF_8));
        }
    }
}
